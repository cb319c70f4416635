// toy_checks: 64 images of two greys, class by class; tests/toy.sh adds it to a copy of the tree.
#include <string.h>

#include "base/compiler.h"
#include "data/dataset.h"
#include "data/image_pool.h"

enum { IMAGES = 64, SIDE = 16 };

// Nothing is read, and a set holds nothing.
static SrStatus set_open(const SrDatasetConfig *config, void *set) {
    (void)config;
    (void)set;
    return SR_OK;
}

static int64_t set_length(const void *set) { return (void)set, IMAGES; }
static int64_t set_label(const void *set, int64_t i) { return (void)set, i % 2; }
static int set_classes(const void *set) { return (void)set, 2; }

static SrStatus set_read(const void *set, int64_t i, SrImagePool *pool, SrSample *out) {
    (void)set;
    *out = (SrSample){.path = ""};
    SR_TRY(sr_image_new(pool, SIDE, SIDE, &out->image));
    memset(out->image.rgb, i % 2 ? 200 : 50, SIDE * SIDE * 3);
    return SR_OK;
}

static const SrDatasetExample examples[] = {{.images = IMAGES, .classes = 2}};

const SrDataset sr_dataset_toy_checks = {
    .name = "toy_checks",
    .help = "Two greys.",
    .open = set_open,
    .length = set_length,
    .read = set_read,
    .label = set_label,
    .classes = set_classes,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
