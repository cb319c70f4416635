// ToTensor: converts levels 0 .. 255 to floats 0 .. 1 (torchvision); the layout stays (H, W, 3).
// Images that have floats keep them.
// A Normalize that follows is done in the same walk, directly into the batch if there is one.
#include <string.h>

#include "data/augment/normalize.h"
#include "data/image_pool.h"
#include "data/pixels/pixel_float.h"
#include "data/transform.h"

typedef struct {
    const SrNormalize *normalize; // absorbed Normalize; NULL: none
} Params;

static bool absorb(void *params, const SrTransform *next, const void *next_params,
                   uint32_t next_stage) {
    (void)next_stage;
    Params *p = params;
    if (strcmp(next->name, "Normalize") != 0)
        return false;
    p->normalize = next_params;
    return true;
}

// A view of another size than its place is refused: the next row belongs to another image.
static SrStatus normalized(const SrNormalize *normalize, const SrTransformContext *ctx,
                           SrViews *views, int v) {
    SrImage *image = &views->view[v];
    float *out = ctx->last ? views->out[v] : NULL;
    if (out)
        SR_TRY(sr__view_fits(views, v));
    if (!out)
        out = sr_image_pool_take(ctx->pool, sizeof(float) * sr_image_samples(image));
    SR_TRY_MEMORY(out, "an image of %d x %d floats", image->H, image->W);
    sr_pixel_to_normalized(image, normalize->mean.v, normalize->std.v, out);
    return SR_OK;
}

// New memory: bytes cannot grow to floats in place.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++)
        SR_TRY(p->normalize ? normalized(p->normalize, ctx, views, v)
                            : sr_pixel_to_tensor(&views->view[v], ctx->pool));
    return SR_OK;
}

const SrTransform sr_transform_to_tensor = {
    .name = "ToTensor",
    .help = "Converts levels 0 .. 255 to floats 0 .. 1.",
    .fixed = true,
    .params_bytes = sizeof(Params),
    .gives_floats = true,
    .absorb = absorb,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
