// torchvision_dataset: VISSL's source for torchvision's data sets.  It reads those that another
// source here can read: CIFAR-10, CIFAR-100 (binary version), MNIST and its relatives (IDX).  The
// files tell which one it is; DATASET_NAMES appears in messages only.  Nothing is downloaded, and
// torchvision's pickled CIFAR batches are not read.
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/sets/source.h"

enum { MAX_PATH_BYTES = 4096 };

typedef struct {
    const SrDataset *kind;
    void *set;
} Set;

// Places below the root where torchvision and the archives put the files.
static const char *const folders[] = {"", "cifar-10-batches-bin", "cifar-100-binary", "MNIST/raw",
                                      "FashionMNIST/raw"};
static const char *const kinds[] = {"cifar", "idx"};

// Finds the first place that holds images of the split.  False: none does.
static bool look(const char *root, const char *split, char path[MAX_PATH_BYTES],
                 const SrDataset **kind) {
    for (int f = 0; f < SR_COUNT(folders); f++) {
        if (*folders[f] && sr_file_join(path, MAX_PATH_BYTES, root, folders[f]) != SR_OK)
            return false;
        if (!*folders[f] && snprintf(path, MAX_PATH_BYTES, "%s", root) >= MAX_PATH_BYTES)
            return false;
        for (int k = 0; k < SR_COUNT(kinds); k++)
            if (sr_dataset_find(kinds[k], kind) == SR_OK && (*kind)->accepts(path, split))
                return true;
    }
    return false;
}

static SrStatus find_files(const SrDatasetConfig *config, char path[MAX_PATH_BYTES],
                           const SrDataset **kind) {
    if (look(config->data_path, config->split, path, kind))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "DATA.%s.DATA_PATHS: %s holds neither CIFAR's binary batches (cifar-10-binary.tar.gz, "
            "unpacked) nor IDX files; torchvision_dataset downloads nothing and does not read "
            "pickled batches",
            config->split, config->data_path);
}

static void set_close(void *opened) {
    Set *set = opened;
    sr_dataset_close(set->kind, set->set);
}

static SrStatus set_open(const SrDatasetConfig *config, void *opened) {
    char path[MAX_PATH_BYTES];
    Set *set = opened;
    SR_TRY(sr__source_check_path(config));
    SR_TRY(find_files(config, path, &set->kind));
    SrDatasetConfig inner = *config;
    inner.data_path = path;
    return sr_dataset_open(set->kind, &inner, &set->set);
}

// The functions below pass each call on to the source that reads the files.
static int64_t set_length(const void *opened) {
    const Set *set = opened;
    return set->kind->length(set->set);
}

static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    const Set *set = opened;
    return set->kind->read(set->set, i, pool, out);
}

static int64_t set_label(const void *opened, int64_t i) {
    const Set *set = opened;
    return set->kind->label(set->set, i);
}

static int set_classes(const void *opened) {
    const Set *set = opened;
    return set->kind->classes(set->set);
}

static const char *set_class_name(const void *opened, int c) {
    const Set *set = opened;
    return set->kind->class_name ? set->kind->class_name(set->set, c) : NULL;
}

// The archives hold the test images next to the training images, so TEST can be accepted.
static bool accepts(const char *path, const char *split) {
    char found[MAX_PATH_BYTES];
    const SrDataset *kind;
    return look(path, split, found, &kind);
}

static const SrDatasetExample examples[] = {
    {.files = {{.path = "cifar-10-batches-bin/data_batch_1.bin",
                .bytes = "\3",
                .n_bytes = 1,
                .zeros = 2 * 3073 - 1}},
     .config = {.data_path = "."},
     .images = 2,
     .classes = 10},
};

const SrDataset sr_dataset_torchvision_dataset = {
    .name = "torchvision_dataset",
    .help = "CIFAR-10, CIFAR-100 and MNIST, from files that must have been downloaded.",
    .reads_label_path = true,
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
