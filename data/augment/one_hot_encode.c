// OneHotEncode: turns labels into a column per class, for losses with several labels per image
// (VISSL).  Pixels stay; the loader writes the columns.
#include <stddef.h>

#include "data/transform.h"

typedef struct {
    int num_classes;
} Params;

// clang-format off
static const SrOption options[] = {
    {"num_classes", SR_OPT_INT, offsetof(Params, num_classes), "1000", 1, 1 << 24, .help = "Columns."},
    SR_OPTION_END};
// clang-format on

static int targets(const void *params) { return ((const Params *)params)->num_classes; }

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    (void)params, (void)ctx, (void)views;
    return SR_OK;
}

const SrTransform sr_transform_one_hot_encode = {
    .name = "OneHotEncode",
    .help = "Turns labels into one column per class: 1 at the image's class, 0 elsewhere.",
    .options = options,
    .params_bytes = sizeof(Params),
    .stands_on = "{name: ToTensor}",
    .fixed = true,
    .takes_floats = true,
    .gives_floats = true,
    .targets = targets,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
