// disk_folder: root/CLASS/**.{jpg,jpeg,png}, classes in the order of their names' bytes; or, when
// images lie in the root itself, everything below it without labels.
//
// Every subfolder is a class, also an empty one, so that train and test number their classes alike.
// Hidden files and folders are passed over.  Files are opened only when they are read.
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/sets/class_names.h"
#include "data/sets/source.h"

#define MAX_DEPTH 32
#define MAX_PATH_BYTES 4096

typedef struct {
    char *root;
    SrStringList paths;   // relative to root, class by class
    SrStringList classes; // empty: no labels
    int64_t *first;       // (classes + 1) where each class's paths begin
} Set;

// A walk down the tree; the folders above guard against links that lead back up.
typedef struct {
    Set *set;
    int64_t others; // files that are no images, for the message
    int depth;
    struct {
        dev_t device;
        ino_t inode;
    } above[MAX_DEPTH];
} Walk;

// By the ending alone: opening a million files to look at their first bytes would take minutes.
static bool is_image(const char *name) {
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    size_t len = strlen(name);
    for (int i = 0; i < SR_COUNT(endings); i++) {
        size_t n = strlen(endings[i]);
        if (len > n && strcasecmp(name + len - n, endings[i]) == 0)
            return true;
    }
    return false;
}

// False where the folder is one of those above it, or too deep.
static bool enter(Walk *walk, const struct stat *st) {
    if (walk->depth == MAX_DEPTH)
        return false;
    for (int i = 0; i < walk->depth; i++)
        if (walk->above[i].device == st->st_dev && walk->above[i].inode == st->st_ino)
            return false;
    walk->above[walk->depth].device = st->st_dev;
    walk->above[walk->depth++].inode = st->st_ino;
    return true;
}

static SrStatus collect(Walk *walk, const char *relative, bool descend);

// One entry of a folder; `relative` is the folder's path below the root, "" for the root.
static SrStatus collect_entry(Walk *walk, const char *relative, const char *name, bool descend) {
    char path[MAX_PATH_BYTES], full[MAX_PATH_BYTES];
    struct stat st;
    if (name[0] == '.')
        return SR_OK;
    if (*relative)
        SR_TRY(sr_file_join(path, sizeof path, relative, name));
    else if (snprintf(path, sizeof path, "%s", name) >= (int)sizeof path)
        SR_FAIL(SR_ERR_CONFIG, "file name too long: %s", name);
    if (is_image(name))
        return sr__string_list_add(&walk->set->paths, path, strlen(path));
    SR_TRY(sr_file_join(full, sizeof full, walk->set->root, path));
    if (stat(full, &st) != 0)
        return SR_OK;
    if (!S_ISDIR(st.st_mode)) {
        walk->others++;
        return SR_OK;
    }
    if (!descend || !enter(walk, &st))
        return SR_OK;
    SrStatus status = collect(walk, path, true);
    walk->depth--;
    return status;
}

// Adds the images below root/relative to the set; without `descend` those of this folder only.
static SrStatus collect(Walk *walk, const char *relative, bool descend) {
    char dir[MAX_PATH_BYTES];
    char **names;
    int n;
    SR_TRY(sr_file_join(dir, sizeof dir, walk->set->root, relative));
    SR_TRY(sr_file_list(dir, &names, &n));
    SrStatus status = SR_OK;
    for (int i = 0; i < n && status == SR_OK; i++)
        status = collect_entry(walk, relative, names[i], descend);
    sr_file_list_free(names, n);
    return status;
}

// The root's subfolders are the classes.
static SrStatus collect_class_names(Set *set) {
    char **names, full[MAX_PATH_BYTES];
    int n;
    SR_TRY(sr_file_list(set->root, &names, &n));
    SrStatus status = SR_OK;
    for (int i = 0; i < n && status == SR_OK; i++) {
        if (names[i][0] == '.')
            continue;
        status = sr_file_join(full, sizeof full, set->root, names[i]);
        if (status == SR_OK && sr_file_is_dir(full))
            status = sr__string_list_add(&set->classes, names[i], strlen(names[i]));
    }
    sr_file_list_free(names, n);
    return status;
}

// `first` is what maps an image to its class: labels cost no memory a file.
static SrStatus collect_classes(Walk *walk) {
    Set *set = walk->set;
    SR_TRY(collect_class_names(set));
    set->first = sr_calloc((size_t)set->classes.n + 1, sizeof *set->first);
    if (!set->first)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %lld classes", (long long)set->classes.n);
    for (int64_t c = 0; c < set->classes.n; c++) {
        SR_TRY(collect(walk, sr__string_list_get(&set->classes, c), true));
        sr__string_list_sort(&set->paths, set->first[c]);
        set->first[c + 1] = set->paths.n;
    }
    return SR_OK;
}

// Decides between the two layouts by whether images lie in the root.
static SrStatus scan(Set *set, const SrDatasetConfig *config) {
    Walk walk = {.set = set};
    SR_TRY(collect(&walk, "", false));
    if (set->paths.n) { // images in the root: no classes, and what lies deeper belongs to them
        sr__string_list_deinit(&set->paths);
        SR_TRY(collect(&walk, "", true));
        sr__string_list_sort(&set->paths, 0);
    } else {
        walk.others = 0;
        SR_TRY(collect_classes(&walk));
    }
    if (!set->paths.n)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS: no .jpg, .jpeg or .png file in %s (%lld other files)",
                config->split, set->root, (long long)walk.others);
    return SR_OK;
}

static void set_close(void *opened) {
    Set *set = opened;
    if (!set)
        return;
    sr__string_list_deinit(&set->paths);
    sr__string_list_deinit(&set->classes);
    sr_free(set->first);
    sr_free(set->root);
    sr_free(set);
}

// Only names are read here; 1.3 million files take seconds and 80 MB.
static SrStatus set_open(const SrDatasetConfig *config, void **out) {
    *out = NULL;
    SR_TRY(sr__source_check_path(config));
    if (!sr_file_is_dir(config->data_path))
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS: %s is not a folder; a list of files is read by disk_filelist",
                config->split, config->data_path);
    Set *set = sr_calloc(1, sizeof *set);
    if (!set || !(set->root = sr_strdup(config->data_path))) {
        set_close(set);
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", config->data_path);
    }
    SrStatus status = scan(set, config);
    if (status != SR_OK) {
        set_close(set);
        return status;
    }
    *out = set;
    return SR_OK;
}

static int64_t set_length(const void *opened) { return ((const Set *)opened)->paths.n; }

// The path lives in the pool, as long as the sample does.
static SrStatus set_path(const void *opened, int64_t i, SrImagePool *pool, const char **out) {
    const Set *set = opened;
    const char *relative = sr__string_list_get(&set->paths, i);
    size_t room = strlen(set->root) + strlen(relative) + 2;
    char *path = sr_image_pool_take(pool, room);
    if (!path)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a path");
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

// A folder is one set of images; where its test set lies is for the configuration to say.
static bool accepts(const char *path, const char *split) {
    return strcmp(split, "TRAIN") == 0 && sr_file_is_dir(path);
}

const SrDataset sr_dataset_disk_folder = {
    .name = "disk_folder",
    .help = "A folder of class folders with JPEG and PNG files, or a flat folder of images without "
            "labels.",
    .open = set_open,
    .close = set_close,
    .length = set_length,
    .read = set_read,
    .path = set_path,
    .label = set_label,
    .classes = set_classes,
    .class_name = set_class_name,
    .accepts = accepts,
};
