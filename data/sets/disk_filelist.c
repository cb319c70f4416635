// disk_filelist: images and labels named by two lists of equal length.  The list of images is a
// .npy of strings, or text with one path per line.  The list of labels is a .npy or text of whole
// numbers or of names, which are numbered in the order of their bytes.  Several labels per image
// are a .npy with a column per class (1, 0, -1: not known), or lines of several numbers, the
// classes present.
//
// The path to one image stands for a list of it.
//
// A relative path is looked for next to the list and then in the current folder.
// REMOVE_IMG_PATH_PREFIX and NEW_IMG_PATH_PREFIX rewrite each path first.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "data/readers/tiff_page.h"
#include "data/sets/class_names.h"
#include "data/sets/shard_walk.h"
#include "data/sets/source.h"

#define MAX_LIST_BYTES ((size_t)2 << 30)
#define MAX_CLASSES (1 << 20)

// A list of strings: lines of text or elements of a .npy.
typedef struct {
    SrNpy npy; // map is NULL for text
    SrStringList lines;
    int64_t n;
} List;

typedef struct {
    List paths;
    char *folder; // folder of the list; "": the current one
    char *remove_prefix, *new_prefix;
    int64_t *labels;      // (n) classes; NULL: none
    int8_t *targets;      // (n, n_classes) of 1, 0, -1; NULL: one class per image
    SrStringList classes; // names of the classes if labels are names
    int n_classes;
} Set;

// ---- lists ----

// Reads one entry per line.  Trailing blanks, carriage returns and empty lines are dropped.
static SrStatus split_lines(const char *text, size_t bytes, SrStringList *lines) {
    for (const char *p = text, *end = text + bytes; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const char *next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        while (stop > p && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        if (stop > p)
            SR_TRY(sr__string_list_add(lines, p, (size_t)(stop - p)));
        p = next;
    }
    return SR_OK;
}

// Returns true if a file's ending or its first bytes are those of an image, or of a page of one.
static bool is_image(const char *path) {
    unsigned char b[12] = {0};
    int page;
    if (sr__shard_is_image(path) || sr__tiff_page_split(path, &page))
        return true;
    int fd = sr_file_open_fd(path);
    ssize_t n = fd >= 0 ? read(fd, b, sizeof b) : 0;
    if (fd >= 0)
        close(fd);
    return n == sizeof b &&
           (memcmp(b, "\xFF\xD8\xFF", 3) == 0 || memcmp(b, "\x89PNG\r\n\x1A\n", 8) == 0 ||
            (memcmp(b, "RIFF", 4) == 0 && memcmp(b + 8, "WEBP", 4) == 0));
}

// A .npy stays mapped and costs no memory however long; text is copied once.
static SrStatus list_open(const char *path, List *list) {
    if (sr_text_ends(path, ".npy")) {
        SR_TRY(sr_npy_open(path, &list->npy));
        list->n = list->npy.n;
        return SR_OK;
    }
    char *text;
    size_t bytes;
    SR_TRY(sr_file_read(path, MAX_LIST_BYTES, &text, &bytes));
    SrStatus status = split_lines(text, bytes, &list->lines);
    sr_free(text);
    list->n = list->lines.n;
    return status;
}

// Makes a list of one image, whose path begins at the list's folder as those of other lists do.
static SrStatus image_open(const char *name, List *list) {
    SR_TRY(sr__string_list_add(&list->lines, name, strlen(name)));
    list->n = 1;
    return SR_OK;
}

static void list_close(List *list) {
    sr_npy_close(&list->npy);
    sr__string_list_deinit(&list->lines);
}

// Number of bytes that entry i needs, with its NUL.
static size_t list_room(const List *list, int64_t i) {
    return list->npy.map ? sr_npy_string_room(&list->npy)
                         : strlen(sr__string_list_get(&list->lines, i)) + 1;
}

// Writes entry i as UTF-8 with its NUL and returns its length.
static size_t list_string(const List *list, int64_t i, char *out, size_t room) {
    if (list->npy.map)
        return sr_npy_string(&list->npy, i, out, room);
    size_t len = SR_MIN(strlen(sr__string_list_get(&list->lines, i)), room - 1);
    memcpy(out, sr__string_list_get(&list->lines, i), len);
    out[len] = 0;
    return len;
}

// ---- labels ----

// The whole line must be the number: "3 cats" is a name.
static bool parse_integer(const char *s, int64_t *out) {
    char *end;
    errno = 0;
    *out = strtoll(s, &end, 10);
    return end != s && !*end && errno == 0;
}

// Text labels are numbers if every line is one.
static bool labels_from_integers(Set *set, const List *list) {
    if (list->npy.map)
        return false;
    for (int64_t i = 0; i < list->n; i++)
        if (!parse_integer(sr__string_list_get(&list->lines, i), &set->labels[i]))
            return false;
    return true;
}

// Floats are accepted if they are whole numbers: 0.4 and NaN are no classes.
static SrStatus labels_from_npy(Set *set, const SrDatasetConfig *config, const SrNpy *npy) {
    for (int64_t i = 0; i < npy->n; i++) {
        if (!sr_npy_is_whole(npy, i))
            SR_FAIL(SR_ERR_CONFIG,
                    "DATA.%s.LABEL_PATHS: %s, row %lld: not a whole number; a label is a class "
                    "from 0 on, or -1 for none",
                    config->split, config->label_path, (long long)i);
        set->labels[i] = sr_npy_integer(npy, i);
    }
    return SR_OK;
}

// Numbers names: the first pass makes the sorted set of names, the second looks each image's up.
static SrStatus labels_from_names(Set *set, const List *list) {
    SrStatus status = SR_OK;
    for (int pass = 0; pass < 2 && status == SR_OK; pass++) {
        for (int64_t i = 0; i < list->n && status == SR_OK; i++) {
            char buffer[1024];
            size_t len = list_string(list, i, buffer, sizeof buffer);
            if (pass == 0)
                status = sr__string_list_add(&set->classes, buffer, len);
            else
                set->labels[i] = sr__string_list_find(&set->classes, buffer);
        }
        if (pass == 0) {
            sr__string_list_sort(&set->classes, 0);
            sr__string_list_unique(&set->classes);
        }
    }
    return status;
}

// Reads a matrix of 1, 0, -1, the form of VISSL's multi-label files.
static SrStatus targets_fill(Set *set, const SrDatasetConfig *config, const SrNpy *npy) {
    bool numbers = !sr_npy_has_strings(npy);
    if (npy->columns < 1 || npy->columns > MAX_CLASSES)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.LABEL_PATHS: %s has %lld columns, expected one column per class",
                config->split, config->label_path, (long long)npy->columns);
    set->targets = sr_alloc((size_t)npy->n * (size_t)npy->columns);
    SR_TRY_MEMORY(set->targets, "%lld x %lld labels", (long long)npy->n, (long long)npy->columns);
    set->n_classes = (int)npy->columns;
    for (int64_t i = 0; i < npy->n * npy->columns; i++) {
        int64_t v = numbers && sr_npy_is_whole(npy, i) ? sr_npy_integer(npy, i) : 2;
        if (v < -1 || v > 1)
            SR_FAIL(SR_ERR_CONFIG,
                    "DATA.%s.LABEL_PATHS: %s, row %lld, column %lld: expected 1, 0 or -1 (not "
                    "known), since a matrix of labels has one column per class",
                    config->split, config->label_path, (long long)(i / npy->columns),
                    (long long)(i % npy->columns));
        set->targets[i] = (int8_t)v;
    }
    return SR_OK;
}

// Parses the numbers of a line, separated by blanks or commas.  row: gets a 1 at each; NULL: only
// parse.  False: the line holds other text.
static bool line_classes(const char *s, int8_t *row, int64_t *largest) {
    for (;;) {
        char *end;
        errno = 0;
        long long v = strtoll(s, &end, 10);
        if (end == s || errno || v < 0 || v >= MAX_CLASSES || !strchr(" \t,", *end))
            return false;
        *largest = SR_MAX(*largest, v);
        if (row)
            row[v] = 1;
        s = end + strspn(end, " \t,");
        if (!*s)
            return true;
    }
}

// Makes targets of 1 and 0 if all lines are whole numbers and at least one line has several.
// *found false: the list is of another kind.
static SrStatus targets_from_lines(Set *set, const SrDatasetConfig *config, const List *list,
                                   bool *found) {
    int64_t largest = -1;
    *found = !list->npy.map && list->n > 0;
    for (int64_t i = 0; *found && i < list->n; i++)
        *found = line_classes(sr__string_list_get(&list->lines, i), NULL, &largest);
    if (!*found)
        return SR_OK;
    size_t classes = (size_t)largest + 1;
    if (classes * (size_t)list->n > MAX_LIST_BYTES)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.LABEL_PATHS: %s: the labels of %lld images with %zu classes are too many; "
                "give them as a matrix in a .npy file",
                config->split, config->label_path, (long long)list->n, classes);
    set->targets = sr_calloc((size_t)list->n, classes);
    SR_TRY_MEMORY(set->targets, "%lld x %zu labels", (long long)list->n, classes);
    set->n_classes = (int)classes;
    for (int64_t i = 0; i < list->n; i++)
        line_classes(sr__string_list_get(&list->lines, i), set->targets + i * set->n_classes,
                     &largest);
    return SR_OK;
}

// Fills labels and the number of classes, which is the largest label + 1 or the number of names.
static SrStatus labels_fill(Set *set, const SrDatasetConfig *config, const List *list) {
    if (list->n != set->paths.n)
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.LABEL_PATHS: %s has %lld labels for %lld images",
                config->split, config->label_path, (long long)list->n, (long long)set->paths.n);
    if (list->npy.map && list->npy.columns != 1)
        return targets_fill(set, config, &list->npy);
    set->labels = sr_calloc((size_t)SR_MAX(list->n, 1), sizeof *set->labels);
    SR_TRY_MEMORY(set->labels, "%lld labels", (long long)list->n);
    if (list->npy.map && !sr_npy_has_strings(&list->npy)) {
        SR_TRY(labels_from_npy(set, config, &list->npy));
    } else if (!labels_from_integers(set, list)) {
        bool several;
        SR_TRY(targets_from_lines(set, config, list, &several));
        if (several)
            return SR_OK;
        SR_TRY(labels_from_names(set, list));
        set->n_classes = (int)set->classes.n;
        return SR_OK;
    }
    int64_t largest = -1;
    for (int64_t i = 0; i < list->n; i++)
        largest = SR_MAX(largest, set->labels[i]);
    if (largest > INT32_MAX - 1)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.LABEL_PATHS: %s has the label %lld, which is too large for a class",
                config->split, config->label_path, (long long)largest);
    set->n_classes = (int)largest + 1;
    return SR_OK;
}

// Without LABEL_PATHS the images have no labels; pretraining needs none.
static SrStatus labels_open(Set *set, const SrDatasetConfig *config) {
    if (!config->label_path || !*config->label_path)
        return SR_OK;
    List list = {0};
    SrStatus status = list_open(config->label_path, &list);
    if (status == SR_OK)
        status = labels_fill(set, config, &list);
    else
        sr_fail_prefix(status, "DATA.%s.LABEL_PATHS", config->split);
    list_close(&list);
    return status;
}

// ---- the set ----

static void set_close(void *opened) {
    Set *set = opened;
    list_close(&set->paths);
    sr__string_list_deinit(&set->classes);
    sr_free(set->folder);
    sr_free(set->remove_prefix);
    sr_free(set->new_prefix);
    sr_free(set->labels);
    sr_free(set->targets);
}

static SrStatus set_open(const SrDatasetConfig *config, void *opened) {
    Set *set = opened;
    SR_TRY(sr__source_check_path(config));
    if (sr_file_is_dir(config->data_path))
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS: %s is a folder; set DATA_SOURCES to disk_folder, which reads "
                "folders",
                config->split, config->data_path);
    const char *slash = strrchr(config->data_path, '/');
    SrStatus status = is_image(config->data_path)
                          ? image_open(slash ? slash + 1 : config->data_path, &set->paths)
                          : list_open(config->data_path, &set->paths);
    if (status != SR_OK)
        return sr_fail_prefix(status, "DATA.%s.DATA_PATHS", config->split);
    const SrNpy *npy = &set->paths.npy;
    if (npy->map && (!sr_npy_has_strings(npy) || npy->columns != 1))
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.DATA_PATHS: %s holds numbers, expected a list of paths",
                config->split, config->data_path);
    if (!set->paths.n)
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.DATA_PATHS: %s lists no image", config->split,
                config->data_path);
    set->folder = sr_strdup(config->data_path);
    set->remove_prefix = sr_strdup(config->remove_prefix ? config->remove_prefix : "");
    set->new_prefix = sr_strdup(config->new_prefix ? config->new_prefix : "");
    SR_TRY_MEMORY(set->folder && set->remove_prefix && set->new_prefix, "%s", config->data_path);
    set->folder[slash ? slash + 1 - config->data_path : 0] = 0;
    return labels_open(set, config);
}

static int64_t set_length(const void *opened) { return ((const Set *)opened)->paths.n; }

// The file system is asked at every read: files of a list may come and go.
static SrStatus set_path(const void *opened, int64_t i, SrImagePool *pool, const char **out) {
    const Set *set = opened;
    size_t room = list_room(&set->paths, i), folder = strlen(set->folder),
           prefix = strlen(set->new_prefix);
    char *listed = sr_image_pool_take(pool, room),
         *path = sr_image_pool_take(pool, folder + prefix + room);
    SR_TRY_MEMORY(listed && path, "a path");
    list_string(&set->paths, i, listed, room);
    bool rewritten = sr_text_starts(listed, set->remove_prefix);
    const char *rest = rewritten ? listed + strlen(set->remove_prefix) : listed;
    // `path` is folder, prefix and rest; an absolute path begins after the folder.
    memcpy(path, set->folder, folder);
    memcpy(path + folder, set->new_prefix, rewritten ? prefix : 0);
    strcpy(path + folder + (rewritten ? prefix : 0), rest);
    bool here = path[folder] == '/' || (folder && !sr__source_exists(path));
    *out = here ? path + folder : path;
    return SR_OK;
}

static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    *out = (SrSample){.path = ""};
    SR_TRY(set_path(opened, i, pool, &out->path));
    return sr__source_read_file(out->path, pool, &out->encoded, &out->encoded_bytes);
}

static int64_t set_label(const void *opened, int64_t i) {
    const Set *set = opened;
    return set->labels && !set->targets ? set->labels[i] : -1;
}

static const int8_t *set_targets(const void *opened, int64_t i) {
    const Set *set = opened;
    return set->targets ? set->targets + i * set->n_classes : NULL;
}

static int set_classes(const void *opened) { return ((const Set *)opened)->n_classes; }

static const char *set_class_name(const void *opened, int c) {
    const Set *set = opened;
    return c < set->classes.n ? sr__string_list_get(&set->classes, c) : NULL;
}

// Lists are recognised by their usual endings, images also by their content.  A list is one set
// of images; the test set is another.
static bool accepts(const char *path, const char *split) {
    if (strcmp(split, "TRAIN") != 0)
        return false;
    if (!sr__source_exists(path) || sr_file_is_dir(path))
        return false;
    return (sr_text_ends(path, ".npy") && !sr__source_is_stack(path)) ||
           sr_text_ends(path, ".txt") || sr_text_ends(path, ".lst") || is_image(path);
}

#define PICTURES \
    {.path = "one.png", .h = 5, .w = 4}, { .path = "two.png", .h = 6, .w = 6 }
static const SrDatasetExample examples[] = {
    {.files = {PICTURES,
               {.path = "images.txt", SR_EXAMPLE_TEXT("one.png\ntwo.png\none.png\n")},
               {.path = "labels.txt", SR_EXAMPLE_TEXT("dog\ncat\ndog\n")}},
     .config = {.data_path = "images.txt", .label_path = "labels.txt"},
     .images = 3,
     .classes = 2},
    {.files = {PICTURES,
               {.path = "images.txt", SR_EXAMPLE_TEXT("old/one.png\nold/two.png\n")},
               {.path = "labels.txt", SR_EXAMPLE_TEXT("0 3\n1\n")}},
     .config = {.data_path = "images.txt",
                .label_path = "labels.txt",
                .remove_prefix = "old/",
                .new_prefix = "./"},
     .images = 2,
     .classes = 4},
};

const SrDataset sr_dataset_disk_filelist = {
    .name = "disk_filelist",
    .help = "Images named by a .npy or text list, labels by another list of the same length; a "
            "matrix of 1, 0, -1: several labels.",
    .keys = "REMOVE_IMG_PATH_PREFIX NEW_IMG_PATH_PREFIX",
    .reads_label_path = true,
    .set_bytes = sizeof(Set),
    .open = set_open,
    .close = set_close,
    .length = set_length,
    .read = set_read,
    .path = set_path,
    .label = set_label,
    .targets = set_targets,
    .classes = set_classes,
    .class_name = set_class_name,
    .accepts = accepts,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
