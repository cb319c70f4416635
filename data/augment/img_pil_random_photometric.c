// ImgPilRandomPhotometric: with one coin all of posterise, sharpen, solarise, autocontrast, in this
// order (VISSL).
#include <stddef.h>

#include "data/pixels/pixel_photometric.h"
#include "data/transform.h"

typedef struct {
    double p;
} Params;

// clang-format off
static const SrOption options[] = {
    {"p", SR_OPT_FLOAT, offsetof(Params, p), "0.66", 0, 1, .help = "Probability of the whole chain."},
    SR_OPTION_END};
// clang-format on

// Bits 4 .. 8, sharpness factor 0.1 .. 1.9, threshold 0 .. 256: VISSL's ranges, which no key
// changes.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrImage *image = &views->view[v];
        SrRng rng = sr__transform_rng(ctx, v);
        if (sr_rng_uniform(&rng) >= p->p)
            continue;
        int bits = 4 + (int)sr_rng_below(&rng, 5);
        double sharpness = sr_rng_range(&rng, 0.1, 1.9);
        int threshold = (int)sr_rng_below(&rng, 257);
        sr__tell(ctx, v, "%d bits; sharpness x %.2f; inverted from %d", bits, sharpness, threshold);
        sr_pixel_posterize(image, bits);
        SR_TRY(sr_pixel_sharpness(image, sharpness, ctx->pool));
        sr_pixel_solarize(image, threshold);
        sr_pixel_autocontrast(image);
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_random_photometric = {
    .name = "ImgPilRandomPhotometric",
    .help = "Posterises, sharpens, solarises and stretches contrast with a probability.",
    .options = options,
    .params_bytes = sizeof(Params),
    .pixels = SR_PIXELS_COLOR,
    .apply = apply,
};
