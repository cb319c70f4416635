// ToyNegative: 255 minus each byte; tests/toy.sh adds it to a copy of the tree.
#include "data/transform.h"

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    (void)params, (void)ctx;
    for (int v = 0; v < views->n; v++) {
        SrImage *image = &views->view[v]; // (H, W, 3)
        for (size_t i = 0, n = (size_t)image->H * (size_t)image->W * 3; i < n; i++)
            image->rgb[i] = (uint8_t)(255 - image->rgb[i]);
    }
    return SR_OK;
}

static const SrOption options[] = {SR_OPTION_END};

const SrTransform sr_transform_toy_negative = {
    .name = "ToyNegative",
    .help = "Turns bright into dark.",
    .options = options,
    .fixed = true,
    .apply = apply,
};
