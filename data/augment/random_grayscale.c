// RandomGrayscale: with a probability the luma in all three channels (torchvision).
#include <stddef.h>

#include "data/pixels/pixel_color.h"
#include "data/transform.h"

typedef struct {
    double p;
} Params;

// clang-format off
static const SrOption options[] = {
    {"p", SR_OPT_FLOAT, offsetof(Params, p), "0.1", 0, 1, .help = "Probability."},
    SR_OPTION_END};
// clang-format on

// Each view has a draw of its own.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        if (sr_rng_uniform(&rng) < p->p) {
            sr__tell(ctx, v, "grey");
            sr_pixel_grayscale(&views->view[v]);
        }
    }
    return SR_OK;
}

const SrTransform sr_transform_random_grayscale = {
    .name = "RandomGrayscale",
    .help = "Turns an image grey with a probability, keeping three channels.",
    .options = options,
    .params_bytes = sizeof(Params),
    .pixels = SR_PIXELS_COLOR,
    .apply = apply,
};
