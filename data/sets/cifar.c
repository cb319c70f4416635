// cifar: the binary version of CIFAR-10 and CIFAR-100 (cs.toronto.edu/~kriz/cifar.html), wholly in
// memory.
//
// DATA_PATHS names the folder (then the split chooses data_batch_*.bin or test_batch.bin; train.bin
// or test.bin) or one file.  A record is one label byte (CIFAR-100: coarse and fine; the fine one
// is used) and three planes of 32 x 32.
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "data/sets/source.h"

#define SIDE 32
#define PLANE (SIDE * SIDE)
#define MAX_PATH_BYTES 4096
#define MAX_BATCHES 64
#define MAX_FILE_BYTES ((size_t)1 << 30)

typedef struct {
    char *bytes;
    size_t n; // records
} Batch;

typedef struct {
    Batch batch[MAX_BATCHES];
    int n_batches;
    int label_bytes; // 1: CIFAR-10, 2: CIFAR-100
    int64_t n;
    char path[MAX_PATH_BYTES];
} Set;

// Labels first, then red, green and blue planes.
static size_t record_bytes(const Set *set) { return (size_t)set->label_bytes + 3 * PLANE; }

// The file's size is its only header: anything but whole records is refused.
static SrStatus add_file(Set *set, const char *path) {
    if (set->n_batches == MAX_BATCHES)
        SR_FAIL(SR_ERR_CONFIG, "more than %d batch files next to %s", MAX_BATCHES, path);
    Batch *batch = &set->batch[set->n_batches];
    size_t bytes;
    SR_TRY(sr_file_read(path, MAX_FILE_BYTES, &batch->bytes, &bytes));
    set->n_batches++;
    if (bytes == 0 || bytes % record_bytes(set) != 0)
        SR_FAIL(SR_ERR_CONFIG, "%s has %zu bytes, not a whole number of records of %zu", path,
                bytes, record_bytes(set));
    batch->n = bytes / record_bytes(set);
    set->n += (int64_t)batch->n;
    return SR_OK;
}

// CIFAR-100 calls its files train.bin and test.bin.
static int label_bytes_of(const char *path) {
    return sr_text_ends(path, "train.bin") || sr_text_ends(path, "/test.bin") ? 2 : 1;
}

// Tells whether this is a file of the split.  *hundred: it is a file of CIFAR-100.
static bool is_batch(const char *name, bool test, bool *hundred) {
    *hundred = strcmp(name, test ? "test.bin" : "train.bin") == 0;
    return *hundred ||
           (test ? strcmp(name, "test_batch.bin") == 0 : sr_text_glob("data_batch_*.bin", name));
}

// Files in the order of their names, as every reader of CIFAR joins them.
static SrStatus add_folder(Set *set, const char *folder, const char *split) {
    bool test = strcmp(split, "TEST") == 0, hundred;
    char **names;
    int n;
    SR_TRY(sr_file_list(folder, &names, &n));
    SrStatus status = SR_OK;
    for (int i = 0; i < n && status == SR_OK; i++) {
        if (!is_batch(names[i], test, &hundred))
            continue;
        char path[MAX_PATH_BYTES];
        status = sr_file_join(path, sizeof path, folder, names[i]);
        set->label_bytes = hundred ? 2 : 1;
        if (status == SR_OK)
            status = add_file(set, path);
    }
    sr_file_list_free(names, n);
    if (status == SR_OK && !set->n)
        status =
            sr_fail(SR_ERR_CONFIG, "no %s in %s",
                    test ? "test_batch.bin or test.bin" : "data_batch_*.bin or train.bin", folder);
    return status;
}

static void set_close(void *opened) {
    Set *set = opened;
    for (int i = 0; i < set->n_batches; i++)
        sr_free(set->batch[i].bytes);
}

// All bytes are read at once: 180 MB at most, and no later read waits for the disk.
static SrStatus set_open(const SrDatasetConfig *config, void *opened) {
    Set *set = opened;
    SR_TRY(sr__source_check_path(config));
    snprintf(set->path, sizeof set->path, "%s", config->data_path);
    set->label_bytes = label_bytes_of(config->data_path);
    SrStatus status = sr_file_is_dir(config->data_path)
                          ? add_folder(set, config->data_path, config->split)
                          : add_file(set, config->data_path);
    return status == SR_OK ? SR_OK : sr_fail_prefix(status, "DATA.%s.DATA_PATHS", config->split);
}

static int64_t set_length(const void *opened) { return ((const Set *)opened)->n; }

// Batches are few: a walk is cheaper than an index.
static const uint8_t *record(const Set *set, int64_t i) {
    const Batch *batch = set->batch;
    while (i >= (int64_t)batch->n) {
        i -= (int64_t)batch->n;
        batch++;
    }
    return (const uint8_t *)batch->bytes + (size_t)i * record_bytes(set);
}

// Planes to pixels; always a copy, because transforms work in place.
static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    const Set *set = opened;
    *out = (SrSample){.path = set->path};
    SR_TRY(sr_image_new(pool, SIDE, SIDE, &out->image));
    const uint8_t *plane = record(set, i) + set->label_bytes;
    for (int k = 0; k < PLANE; k++)
        for (int c = 0; c < 3; c++)
            out->image.rgb[3 * k + c] = plane[c * PLANE + k];
    return SR_OK;
}

// CIFAR-100 keeps the coarse label first; the last byte before the pixels is the one meant.
static int64_t set_label(const void *opened, int64_t i) {
    const Set *set = opened;
    return record(set, i)[set->label_bytes - 1];
}

static int set_classes(const void *opened) {
    return ((const Set *)opened)->label_bytes == 1 ? 10 : 100;
}

// CIFAR-100 has no names here: numbers suffice in a table of a hundred rows.
static const char *set_class_name(const void *opened, int c) {
    static const char *const ten[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                      "dog",      "frog",       "horse", "ship", "truck"};
    return ((const Set *)opened)->label_bytes == 1 && c < SR_COUNT(ten) ? ten[c] : NULL;
}

// Names only: nothing is opened to find out.
static bool accepts(const char *path, const char *split) {
    bool test = strcmp(split, "TEST") == 0, hundred, found = false;
    const char *slash = strrchr(path, '/');
    char **names;
    int n;
    if (!sr_file_is_dir(path))
        return is_batch(slash ? slash + 1 : path, test, &hundred) && sr_file_exists(path);
    if (sr_file_list(path, &names, &n) != SR_OK)
        return false;
    for (int i = 0; i < n && !found; i++)
        found = is_batch(names[i], test, &hundred);
    sr_file_list_free(names, n);
    return found;
}

// A record is its labels and 32 x 32 x 3 pixels.
static const SrDatasetExample examples[] = {
    {.files = {{.path = "data_batch_1.bin", .bytes = "\3", .n_bytes = 1, .zeros = 2 * 3073 - 1},
               {.path = "test_batch.bin", .zeros = 3073, .bytes = ""}},
     .config = {.data_path = "."},
     .images = 2,
     .classes = 10},
    {.files = {{.path = "train.bin", .bytes = "\3\77", .n_bytes = 2, .zeros = 3 * 3074 - 2}},
     .config = {.data_path = "train.bin"},
     .images = 3,
     .classes = 100},
};

const SrDataset sr_dataset_cifar = {
    .name = "cifar",
    .help = "CIFAR-10 or CIFAR-100, binary version, in memory.",
    .set_bytes = sizeof(Set),
    .open = set_open,
    .close = set_close,
    .length = set_length,
    .read = set_read,
    .label = set_label,
    .classes = set_classes,
    .class_name = set_class_name,
    .accepts = accepts,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
