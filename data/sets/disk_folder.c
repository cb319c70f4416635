// disk_folder: root/CLASS/** with image files of image_kind.h, and classes in the order of their
// names' bytes.  If images lie in the root itself, the set is all images below it, without labels.
//
// A subfolder without images is no class: it is passed over, and a message names it.  Images next
// to the class folders are strays if they are fewer than the smallest class: they are left out,
// and the classes stay.  Hidden files and folders are passed over.  Opening a set opens no image.
//
// Symbolic links are followed, as torchvision's ImageFolder does, because data sets are often trees
// of links.  A link back to a folder above is passed over and counted.  A link to nowhere counts as
// an image that cannot be read.  Devices and pipes are never opened.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/image_kind.h"
#include "data/image_pool.h"
#include "data/sets/class_names.h"
#include "data/sets/source.h"

#define MAX_DEPTH 32
#define MAX_PATH_BYTES 4096
#define NAMED_AT_MOST 3 // empty folders in a message
#define MOST_BY_LINKS 100000

enum { MAX_KINDS = 32 }; // more than there are in image_kind.h

typedef struct {
    char *root;
    SrStringList paths;   // paths relative to the root, class by class
    SrStringList classes; // names of classes; empty: no labels
    int64_t *first;       // (classes + 1) first path of each class
    SrText skipped;       // description of what was passed over
} Set;

// State of the walk down the tree.  The folders above are kept to find links that lead back up.
typedef struct {
    Set *set;
    int64_t skipped[MAX_KINDS + 1]; // number of files passed over, by kind; the last: other kinds
    int64_t strays, loops;          // number of images next to class folders, and of links back up
    int64_t deep;                   // number of folders below MAX_DEPTH, which are not entered
    int64_t empty;                  // number of subfolders of the root without an image
    SrText empty_names;             // names of the first of these
    int links;                      // links among the folders above
    int64_t by_links;               // number of folders that several links on one path led to
    int depth;
    struct {
        dev_t device;
        ino_t inode;
    } above[MAX_DEPTH];
} Walk;

// Enters a folder. Returns false and counts it if it is one of the folders above it, which a link
// can cause, or lies too deep.
static bool enter(Walk *walk, const struct stat *st) {
    for (int i = 0; i < walk->depth; i++)
        if (walk->above[i].device == st->st_dev && walk->above[i].inode == st->st_ino) {
            walk->loops++;
            return false;
        }
    if (walk->depth == MAX_DEPTH) {
        walk->deep++;
        return false;
    }
    walk->above[walk->depth].device = st->st_dev;
    walk->above[walk->depth++].inode = st->st_ino;
    return true;
}

static SrStatus collect(Walk *walk, const char *relative, bool descend);

// Links that lead to folders of links multiply: twenty folders of two links each would be a million
// folders, from an archive of a few kilobytes.
static SrStatus count_link(Walk *walk, const char *full) {
    walk->links += sr_file_is_link(full);
    if (walk->links > 1 && ++walk->by_links > MOST_BY_LINKS)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: links that lead to folders of links stand for more than %d folders, such as "
                "%s; remove these links",
                walk->set->root, MOST_BY_LINKS, full);
    return SR_OK;
}

static SrStatus collect_folder(Walk *walk, const char *path, const struct stat *st) {
    char full[MAX_PATH_BYTES];
    int links = walk->links;
    if (!enter(walk, st))
        return SR_OK;
    SrStatus status = sr_file_join(full, sizeof full, walk->set->root, path);
    if (status == SR_OK)
        status = count_link(walk, full);
    if (status == SR_OK)
        status = collect(walk, path, true);
    walk->links = links;
    walk->depth--;
    return status;
}

// A failing disk must not look like a missing folder: that would lose its images and renumber all
// later classes.  *st: a regular file if the path leads nowhere.
static SrStatus stat_below(const Walk *walk, const char *path, struct stat *st) {
    char full[MAX_PATH_BYTES];
    SR_TRY(sr_file_join(full, sizeof full, walk->set->root, path));
    if (stat(full, st) == 0)
        return SR_OK;
    if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR)
        SR_FAIL(SR_ERR_IO, "cannot look at '%s': %s", full, strerror(errno));
    *st = (struct stat){.st_mode = S_IFREG};
    return SR_OK;
}

// Finds the type of an entry.  The type in the folder is trusted, so that only links and file
// systems without types cost a call.  A link to nowhere counts as a file: reading it gives the
// error.
static SrStatus look(const Walk *walk, const char *path, unsigned char type, struct stat *st) {
    *st = (struct stat){.st_mode = S_IFREG};
    return type == DT_REG ? SR_OK : stat_below(walk, path, st);
}

// Handles one entry of a folder.  relative: the folder's path below the root; "": the root.
static SrStatus collect_entry(Walk *walk, const char *relative, const struct dirent *entry,
                              bool descend) {
    char path[MAX_PATH_BYTES];
    const char *name = entry->d_name;
    struct stat st;
    if (name[0] == '.')
        return SR_OK;
    if (*relative)
        SR_TRY(sr_file_join(path, sizeof path, relative, name));
    else if (snprintf(path, sizeof path, "%s", name) >= (int)sizeof path)
        SR_FAIL(SR_ERR_CONFIG, "file name too long: %s", name);
    SR_TRY(look(walk, path, entry->d_type, &st));
    if (S_ISDIR(st.st_mode))
        return descend ? collect_folder(walk, path, &st) : SR_OK;
    // The ending alone decides: opening a million files to look at their content would take
    // minutes.  Pipes are never opened.
    int number = MAX_KINDS;
    const SrImageKind *kind = S_ISREG(st.st_mode) ? sr__image_kind_find(name, &number) : NULL;
    if (kind && kind->read)
        return sr__string_list_add(&walk->set->paths, path, strlen(path));
    walk->skipped[number]++;
    return SR_OK;
}

// Adds the images below root/relative to the set.  descend false: those of this folder only.
static SrStatus collect(Walk *walk, const char *relative, bool descend) {
    char dir[MAX_PATH_BYTES];
    SR_TRY(sr_file_join(dir, sizeof dir, walk->set->root, relative));
    DIR *d = opendir(dir);
    if (!d)
        SR_FAIL(SR_ERR_IO, "cannot list folder '%s': %s", dir, strerror(errno));
    SrStatus status = SR_OK;
    const struct dirent *e;
    while (status == SR_OK && (errno = 0, e = readdir(d)))
        status = collect_entry(walk, relative, e, descend);
    if (status == SR_OK && errno)
        status = sr_fail(SR_ERR_IO, "cannot list folder '%s': %s", dir, strerror(errno));
    closedir(d);
    return status;
}

// *found: `name` is a folder below the root, not the root itself.
static SrStatus find_class(const Walk *walk, const char *name, struct stat *st, bool *found) {
    *found = false;
    if (name[0] == '.')
        return SR_OK;
    SR_TRY(stat_below(walk, name, st));
    *found = S_ISDIR(st->st_mode) &&
             (st->st_dev != walk->above[0].device || st->st_ino != walk->above[0].inode);
    return SR_OK;
}

// The root's subfolders are the classes.
static SrStatus collect_class_names(Walk *walk) {
    struct stat st;
    char **names;
    int n;
    SR_TRY(sr_file_list(walk->set->root, &names, &n));
    SrStatus status = SR_OK;
    for (int i = 0; i < n && status == SR_OK; i++) {
        bool found;
        status = find_class(walk, names[i], &st, &found);
        if (status == SR_OK && found)
            status = sr__string_list_add(&walk->set->classes, names[i], strlen(names[i]));
    }
    sr_file_list_free(names, n);
    return status;
}

static void note_empty(Walk *walk, const char *name) {
    if (walk->empty++ < NAMED_AT_MOST)
        sr_text_printf(&walk->empty_names, "%s%s", walk->empty > 1 ? ", " : "", name);
}

// `first` maps an image to its class, so that labels cost no memory per file.
static SrStatus collect_classes(Walk *walk) {
    Set *set = walk->set;
    struct stat st;
    int64_t kept = 0;
    set->first = sr_calloc((size_t)set->classes.n + 1, sizeof *set->first);
    SR_TRY_MEMORY(set->first, "%lld classes", (long long)set->classes.n);
    for (int64_t c = 0; c < set->classes.n; c++) {
        const char *name = sr__string_list_get(&set->classes, c);
        bool found;
        SR_TRY(find_class(walk, name, &st, &found));
        if (found)
            SR_TRY(collect_folder(walk, name, &st));
        if (set->paths.n == set->first[kept]) {
            note_empty(walk, name);
            continue;
        }
        sr__string_list_sort(&set->paths, set->first[kept]);
        set->classes.at[kept++] = set->classes.at[c];
        set->first[kept] = set->paths.n;
    }
    set->classes.n = kept;
    return SR_OK;
}

// Number of images of the smallest class that has any; 0: fewer than two classes have images.
static int64_t smallest_class(const Set *set) {
    int64_t smallest = INT64_MAX, present = 0;
    for (int64_t c = 0; c < set->classes.n; c++) {
        int64_t n = set->first[c + 1] - set->first[c];
        present += n > 0;
        smallest = n > 0 ? SR_MIN(smallest, n) : smallest;
    }
    return present > 1 ? smallest : 0;
}

// Handles a root with more images than strays: there are no classes, and deeper images belong too.
static SrStatus collect_flat(Walk *walk) {
    Set *set = walk->set;
    sr__string_list_deinit(&set->paths);
    sr__string_list_deinit(&set->classes);
    sr_free(set->first);
    set->first = NULL;
    sr_text_deinit(&walk->empty_names);
    *walk = (Walk){.set = set, .depth = 1, .above = {walk->above[0]}};
    SR_TRY(collect(walk, "", true));
    sr__string_list_sort(&set->paths, 0);
    return SR_OK;
}

// Decides between the two layouts.
static SrStatus collect_all(Walk *walk) {
    Set *set = walk->set;
    SR_TRY(collect(walk, "", false));
    SR_TRY(collect_class_names(walk));
    int64_t in_root = set->paths.n;
    if (in_root && set->classes.n < 2)
        return collect_flat(walk);
    sr__string_list_deinit(&set->paths);
    SR_TRY(collect_classes(walk));
    if (in_root && in_root >= smallest_class(set))
        return collect_flat(walk);
    walk->strays = in_root;
    return SR_OK;
}

static void say(SrText *text, int64_t n, const char *what) {
    if (n)
        sr_text_printf(text, "%s%lld %s", text->len ? ", " : "", (long long)n, what);
}

// Names a kind that this build does not read, with the package that would add it.
static void say_kind(SrText *text, int64_t n, const SrImageKind *kind) {
    say(text, n, kind->ending);
    if (n)
        sr_text_printf(text, " (a build with %s reads %s)", kind->package, n == 1 ? "it" : "them");
}

static SrStatus describe_skipped(const Walk *walk) {
    SrText *text = &walk->set->skipped;
    for (int i = 0; sr__image_kind_at(i); i++)
        say_kind(text, walk->skipped[i], sr__image_kind_at(i));
    say(text, walk->skipped[MAX_KINDS], "other");
    say(text, walk->strays, "image(s) next to the class folders");
    say(text, walk->loops, "link(s) back to a folder above");
    say(text, walk->deep, "folder(s) more than 32 levels down");
    say(text, walk->empty, "folder(s) without an image");
    if (walk->empty)
        sr_text_printf(text, " (%s%s)", walk->empty_names.s ? walk->empty_names.s : "",
                       walk->empty > NAMED_AT_MOST ? ", ..." : "");
    return text->failed || walk->empty_names.failed ? sr_out_of_memory("%s", walk->set->root)
                                                    : SR_OK;
}

static SrStatus scan(Set *set, const SrDatasetConfig *config) {
    Walk walk = {.set = set};
    struct stat st;
    if (stat(set->root, &st) != 0)
        SR_FAIL(SR_ERR_IO, "cannot read folder '%s': %s", set->root, strerror(errno));
    enter(&walk, &st);
    SrStatus status = collect_all(&walk);
    if (status == SR_OK)
        status = describe_skipped(&walk);
    sr_text_deinit(&walk.empty_names);
    SR_TRY(status);
    char endings[SR_IMAGE_ENDINGS_BYTES];
    if (!set->paths.n)
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.DATA_PATHS: no %s file in %s%s%s", config->split,
                sr__image_kinds_text(endings), set->root, set->skipped.len ? "; files there: " : "",
                set->skipped.len ? set->skipped.s : "");
    return SR_OK;
}

static void set_close(void *opened) {
    Set *set = opened;
    sr__string_list_deinit(&set->paths);
    sr__string_list_deinit(&set->classes);
    sr_text_deinit(&set->skipped);
    sr_free(set->first);
    sr_free(set->root);
}

// Opening reads only names; 1.3 million files take seconds and 80 MB.
static SrStatus set_open(const SrDatasetConfig *config, void *opened) {
    Set *set = opened;
    SR_TRY(sr__source_check_path(config));
    struct stat st;
    if (stat(config->data_path, &st) == 0 && !S_ISDIR(st.st_mode))
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS: %s is not a folder; set DATA_SOURCES to disk_filelist, which "
                "reads lists of files",
                config->split, config->data_path);
    set->root = sr_strdup(config->data_path);
    return set->root ? scan(set, config) : sr_out_of_memory("%s", config->data_path);
}

static int64_t set_length(const void *opened) { return ((const Set *)opened)->paths.n; }

// The path is in the pool and lives as long as the sample.
static SrStatus set_path(const void *opened, int64_t i, SrImagePool *pool, const char **out) {
    const Set *set = opened;
    const char *relative = sr__string_list_get(&set->paths, i);
    size_t room = strlen(set->root) + strlen(relative) + 2;
    char *path = sr_image_pool_take(pool, room);
    SR_TRY_MEMORY(path, "a path");
    SR_TRY(sr_file_join(path, room, set->root, relative));
    *out = path;
    return SR_OK;
}

static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    *out = (SrSample){.path = ""};
    SR_TRY(set_path(opened, i, pool, &out->path));
    return sr__source_read_file(out->path, pool, &out->encoded, &out->encoded_bytes);
}

static int64_t set_label(const void *opened, int64_t i) {
    const Set *set = opened;
    int64_t low = 0, high = set->classes.n; // the class whose paths hold i lies in [low, high)
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (set->first[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return set->classes.n ? low : -1;
}

static int set_classes(const void *opened) { return (int)((const Set *)opened)->classes.n; }

static const char *set_class_name(const void *opened, int c) {
    return sr__string_list_get(&((const Set *)opened)->classes, c);
}

static const char *set_skipped(const void *opened) {
    const Set *set = opened;
    return set->skipped.len ? set->skipped.s : "";
}

// A folder is one set of images; the configuration names the folder of the test set.
static bool accepts(const char *path, const char *split) {
    return strcmp(split, "TRAIN") == 0 && sr_file_is_dir(path);
}

static const SrDatasetExample examples[] = {
    {.files = {{.path = "cat/one.png", .h = 5, .w = 4},
               {.path = "cat/two.png", .h = 6, .w = 6},
               {.path = "dog/deep/three.png", .h = 3, .w = 7},
               {.path = "dog/notes.txt", SR_EXAMPLE_TEXT("no image\n")}},
     .config = {.data_path = "."},
     .images = 3,
     .classes = 2},
    {.files = {{.path = "one.png", .h = 5, .w = 4}, {.path = "two.png", .h = 1, .w = 1}},
     .config = {.data_path = "."},
     .images = 2},
};

const SrDataset sr_dataset_disk_folder = {
    .name = "disk_folder",
    .help = "A folder with one folder of image files per class, or a flat folder of images without "
            "labels.",
    .set_bytes = sizeof(Set),
    .open = set_open,
    .close = set_close,
    .length = set_length,
    .read = set_read,
    .path = set_path,
    .label = set_label,
    .classes = set_classes,
    .class_name = set_class_name,
    .skipped = set_skipped,
    .accepts = accepts,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
