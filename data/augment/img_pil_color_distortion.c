// ImgPilColorDistortion: SimCLR's colour distortion (arXiv:2002.05709, appendix A): with
// probability 0.8 a colour jitter of (0.8, 0.8, 0.8, 0.2) * strength, then with probability 0.2
// grey.
#include <stddef.h>

#include "data/augment/shared/jitter.h"

typedef struct {
    double strength;
} Params;

// clang-format off
static const SrOption options[] = {
    {"strength", SR_OPT_FLOAT, offsetof(Params, strength), "1.0", 0, 2.5, .help = "Factor of all four ranges."},
    {"brightness", SR_OPT_IGNORED, 0, "0.8", .help = "VISSL ignores the key too: strength gives the ranges."},
    {"contrast", SR_OPT_IGNORED, 0, "0.8", .help = "VISSL ignores the key too: strength gives the ranges."},
    {"saturation", SR_OPT_IGNORED, 0, "0.8", .help = "VISSL ignores the key too: strength gives the ranges."},
    {"hue", SR_OPT_IGNORED, 0, "0.2", .help = "VISSL ignores the key too: strength gives the ranges."},
    {"color_jitter_probability", SR_OPT_IGNORED, 0, "0.8",
     .help = "VISSL ignores the key too: the probability is always 0.8."},
    {"grayscale_probability", SR_OPT_IGNORED, 0, "0.2",
     .help = "VISSL ignores the key too: the probability is always 0.2."},
    SR_OPTION_END};
// clang-format on

// Both coins are drawn before the factors, so that an image's greyness does not depend on its
// jitter.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    double s = p->strength;
    SrJitterRanges ranges = sr__jitter_ranges(0.8 * s, 0.8 * s, 0.8 * s, 0.2 * s);
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        bool jittered = sr_rng_uniform(&rng) < 0.8, gray = sr_rng_uniform(&rng) < 0.2;
        SrJitter jitter;
        if (jittered)
            jitter = sr__jitter_draw(&rng, &ranges);
        sr__jitter_tell(ctx, v, jittered ? &jitter : NULL, gray);
        sr__jitter_apply(jittered ? &jitter : NULL, gray, &views->view[v]);
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_color_distortion = {
    .name = "ImgPilColorDistortion",
    .help =
        "SimCLR's colour distortion: jitter with probability 0.8, then grey with probability 0.2.",
    .options = options,
    .params_bytes = sizeof(Params),
    .pixels = SR_PIXELS_COLOR,
    .apply = apply,
};
