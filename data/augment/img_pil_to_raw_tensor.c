// ImgPilToRawTensor: converts levels to floats 0 .. 255, in the place of ToTensor (VISSL, for
// trunks from Caffe).
#include "data/image_pool.h"
#include "data/pixels/pixel.h"
#include "data/transform.h"

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    (void)params;
    for (int v = 0; v < views->n; v++) {
        SrImage *image = &views->view[v];
        size_t n = (size_t)image->H * (size_t)image->W * 3;
        float *out = sr_image_pool_take(ctx->pool, n * sizeof *out);
        SR_TRY_MEMORY(out, "an image of %d x %d floats", image->H, image->W);
        for (size_t i = 0; i < n; i++)
            out[i] = image->rgb[i];
        image->f = out;
        image->rgb = NULL;
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_to_raw_tensor = {
    .name = "ImgPilToRawTensor",
    .help = "Converts levels to floats 0 .. 255; replaces ToTensor.",
    .fixed = true,
    .gives_floats = true,
    .apply = apply,
};
