// RandomHorizontalFlip: mirrors left to right with a probability (torchvision).
#include <stddef.h>

#include "data/augment/shared/crop.h"
#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"

// clang-format off
static const SrOption options[] = {
    {"p", SR_OPT_FLOAT, offsetof(SrFlip, p), "0.5", 0, 1, .help = "Probability."},
    SR_OPTION_END};
// clang-format on

// Each view has a draw of its own.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    for (int v = 0; v < views->n; v++)
        if (sr__flip_drawn(params, ctx, v, ctx->stage)) {
            sr__tell(ctx, v, "mirrored");
            sr_pixel_flip(&views->view[v]);
        }
    return SR_OK;
}

const SrTransform sr_transform_random_horizontal_flip = {
    .name = "RandomHorizontalFlip",
    .help = "Mirrors left to right with a probability.",
    .options = options,
    .params_bytes = sizeof(SrFlip),
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
