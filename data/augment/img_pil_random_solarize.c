// ImgPilRandomSolarize: with a probability inverts what is above a random threshold (VISSL).
//
// The threshold is uniform in 0 .. 256, so it may invert everything or nothing; BYOL's paper fixes
// it at 128, which `threshold: 128` gives.
#include <stddef.h>

#include "data/pixels/pixel_photometric.h"
#include "data/transform.h"

typedef struct {
    double p;
    int threshold;
} Params;

// clang-format off
static const SrOption options[] = {
    {"p", SR_OPT_FLOAT, offsetof(Params, p), "0.66", 0, 1, .help = "Probability."},
    {"threshold", SR_OPT_INT, offsetof(Params, threshold), "-1", -1, 256,
     .help = "Threshold; -1: drawn from 0 .. 256, as in VISSL."},
    SR_OPTION_END};
// clang-format on

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        if (sr_rng_uniform(&rng) >= p->p)
            continue;
        int threshold = p->threshold >= 0 ? p->threshold : (int)sr_rng_below(&rng, 257);
        sr__tell(ctx, v, "inverted from %d", threshold);
        sr_pixel_solarize(&views->view[v], threshold);
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_random_solarize = {
    .name = "ImgPilRandomSolarize",
    .help = "Inverts levels at or above a threshold with a probability.",
    .options = options,
    .params_bytes = sizeof(Params),
    .pixels = SR_PIXELS_COLOR,
    .apply = apply,
};
