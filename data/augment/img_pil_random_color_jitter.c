// ImgPilRandomColorJitter: with a probability a colour jitter of (0.8, 0.8, 0.8, 0.2) * strength
// (VISSL).
#include <stddef.h>

#include "data/augment/shared/jitter.h"

typedef struct {
    double strength, p;
} Params;

// clang-format off
static const SrOption options[] = {
    {"strength", SR_OPT_FLOAT, offsetof(Params, strength), "1.0", 0, 2.5, .help = "Factor of all four ranges."},
    {"p", SR_OPT_FLOAT, offsetof(Params, p), "0.8", 0, 1, .help = "Probability."},
    SR_OPTION_END};
// clang-format on

// Ranges are those of ImgPilColorDistortion; the probability is an option, and there is no grey.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    double s = p->strength;
    SrJitterRanges ranges = sr__jitter_ranges(0.8 * s, 0.8 * s, 0.8 * s, 0.2 * s);
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        if (sr_rng_uniform(&rng) >= p->p)
            continue;
        SrJitter jitter = sr__jitter_draw(&rng, &ranges);
        sr__jitter_tell(ctx, v, &jitter, false);
        sr__jitter_apply(&jitter, false, &views->view[v]);
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_random_color_jitter = {
    .name = "ImgPilRandomColorJitter",
    .help = "Applies SimCLR's colour jitter with a probability.",
    .options = options,
    .params_bytes = sizeof(Params),
    .pixels = SR_PIXELS_COLOR,
    .apply = apply,
};
