// ImgRotatePil: turns the image by a random multiple of 360 / num_angles, which becomes its label
// (RotNet, arXiv:1803.07728).
#include <stddef.h>

#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"

typedef struct {
    int num_angles;
} Params;

// clang-format off
static const SrOption options[] = {
    {"num_angles", SR_OPT_INT, offsetof(Params, num_angles), "4", 1, 360,
     .help = "Number of angles, which is the number of classes."},
    {"num_rotations_per_img", SR_OPT_IGNORED, 0, "1",
     .help = "VISSL ignores the key too: each image is rotated once."},
    SR_OPTION_END};
// clang-format on

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    // One class for the whole sample: it has one label.
    SrRng rng = sr__transform_rng(ctx, 0);
    int class = (int)sr_rng_below(&rng, (uint32_t)p->num_angles);
    double angle = class * 360.0 / p->num_angles;
    for (int v = 0; v < views->n; v++) {
        sr__tell(ctx, v, "turned by %g degrees", angle);
        SR_TRY(sr_pixel_rotate(&views->view[v], angle, ctx->pool));
    }
    if (ctx->label)
        *ctx->label = class;
    return SR_OK;
}

static int classes(const void *params) { return ((const Params *)params)->num_angles; }

// Any angle keeps the size: what leaves the frame is lost.
const SrTransform sr_transform_img_rotate_pil = {
    .name = "ImgRotatePil",
    .help = "Rotates by a random multiple of 360 / num_angles; the index of the angle becomes the "
            "label.",
    .options = options,
    .params_bytes = sizeof(Params),
    .classes = classes,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
