// ToTensor: levels 0 .. 255 to floats 0 .. 1 (torchvision), kept (H, W, 3).
#include "data/pixel.h"

// New memory: bytes cannot grow to floats in place.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    (void)params;
    for (int v = 0; v < views->n; v++)
        SR_TRY(sr_pixel_to_tensor(&views->view[v], ctx->pool));
    return SR_OK;
}

const SrTransform sr_transform_to_tensor = {
    .name = "ToTensor",
    .help = "Levels 0 .. 255 to floats 0 .. 1.",
    .gives_floats = true,
    .apply = apply,
};
