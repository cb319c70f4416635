// ImgPilGaussianBlur: with a probability a Gaussian blur of random width (VISSL, after SimCLR's
// appendix A).
#include <stddef.h>

#include "data/pixels/pixel_blur.h"
#include "data/transform.h"

// VISSL calls the standard deviation a radius, after PIL's parameter.
typedef struct {
    double p, radius_min, radius_max;
} Params;

// clang-format off
static const SrOption options[] = {
    {"p", SR_OPT_FLOAT, offsetof(Params, p), "0.5", 0, 1, .help = "Probability."},
    {"radius_min", SR_OPT_FLOAT, offsetof(Params, radius_min), "0.1", 0, 100, .help = "Smallest standard deviation in pixels."},
    {"radius_max", SR_OPT_FLOAT, offsetof(Params, radius_max), "2.0", 0, 100, .help = "Largest standard deviation in pixels."},
    SR_OPTION_END};
// clang-format on

static SrStatus check(const void *params) {
    const Params *p = params;
    if (p->radius_min > p->radius_max)
        SR_FAIL(SR_ERR_CONFIG, "radius_min %g is above radius_max %g", p->radius_min,
                p->radius_max);
    return SR_OK;
}

// The coin first: the width is drawn only where it is used.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrRng rng = sr__transform_rng(ctx, v);
        if (sr_rng_uniform(&rng) >= p->p)
            continue;
        double radius = sr_rng_range(&rng, p->radius_min, p->radius_max);
        sr__tell(ctx, v, "blur %.2f", radius);
        SR_TRY(sr_pixel_blur(&views->view[v], radius, ctx->pool));
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_gaussian_blur = {
    .name = "ImgPilGaussianBlur",
    .help = "Blurs with a probability, by a Gaussian of random width.",
    .options = options,
    .params_bytes = sizeof(Params),
    .check = check,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
