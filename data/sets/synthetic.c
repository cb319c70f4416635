// synthetic: generated images, to try a configuration or measure speed without data (VISSL).
//
// Images are grey squares, or with RANDOM_SYNTHETIC_IMAGES blurred noise that depends on (seed,
// index) alone.
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "data/pixels/pixel_blur.h"

#define MIN_LENGTH 50000
#define NOISE_BLUR 2.0 // pixels: as smooth as a small photo

typedef struct {
    int64_t n;
    int side;
    bool noise;
    int n_labels; // 0: all images are of class 0
    uint64_t seed;
} Set;

// The length is VISSL's: at least 50,000, so that an epoch is worth timing.
static SrStatus set_open(const SrDatasetConfig *config, void *opened) {
    if (config->gray_size < 1 || config->gray_size > 8192)
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.DEFAULT_GRAY_IMG_SIZE is %d, expected 1 .. 8192",
                config->split, config->gray_size);
    *(Set *)opened = (Set){
        .n = SR_MAX(MIN_LENGTH, config->data_limit),
        .side = config->gray_size,
        .noise = config->random_images,
        .n_labels = SR_MAX(0, config->random_labels),
        .seed = config->seed,
    };
    return SR_OK;
}

static int64_t set_length(const void *opened) { return ((const Set *)opened)->n; }

// Four bytes a draw; the blur gives neighbouring pixels something in common.
static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    const Set *set = opened;
    *out = (SrSample){.path = ""};
    SR_TRY(sr_image_new(pool, set->side, set->side, &out->image));
    size_t bytes = (size_t)set->side * (size_t)set->side * 3;
    if (!set->noise) {
        memset(out->image.rgb, 128, bytes);
        return SR_OK;
    }
    SrRng rng = sr_rng(set->seed, SR_RNG_SYNTHETIC, 0, (uint64_t)i, 0, 0);
    for (size_t k = 0; k < bytes; k += 4) {
        uint32_t four = sr_rng_u32(&rng);
        memcpy(out->image.rgb + k, &four, SR_MIN(bytes - k, 4));
    }
    return sr_pixel_blur(&out->image, NOISE_BLUR, pool);
}

// Labels are evenly spread and follow from the index.
static int64_t set_label(const void *opened, int64_t i) {
    const Set *set = opened;
    return set->n_labels ? i % set->n_labels : 0;
}

static int set_classes(const void *opened) { return SR_MAX(1, ((const Set *)opened)->n_labels); }

static const SrDatasetExample examples[] = {
    {.config = {.gray_size = 8}, .images = MIN_LENGTH, .classes = 1},
    {.config = {.gray_size = 8, .random_images = true, .random_labels = 3, .data_limit = 60000},
     .images = 60000,
     .classes = 3},
};

const SrDataset sr_dataset_synthetic = {
    .name = "synthetic",
    .makes_images = true,
    .help = "At least 50,000 images of one grey level or of blurred noise, to try a configuration "
            "without data.",
    .keys = "RANDOM_SYNTHETIC_IMAGES RANDOM_SYNTHETIC_LABELS",
    .set_bytes = sizeof(Set),
    .open = set_open,
    .length = set_length,
    .read = set_read,
    .label = set_label,
    .classes = set_classes,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
