// ImgPil2LabTensor: converts RGB levels to floats in CIE LAB, in the place of ToTensor (VISSL).
// The AlexNets of "Colorful Image Colorization", arXiv:1603.08511, take L alone.
#include "data/pixels/pixel_lab.h"
#include "data/transform.h"

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    (void)params;
    for (int v = 0; v < views->n; v++)
        SR_TRY(sr_pixel_to_lab(&views->view[v], ctx->pool));
    return SR_OK;
}

const SrTransform sr_transform_img_pil2_lab_tensor = {
    .name = "ImgPil2LabTensor",
    .help = "Converts levels to floats in CIE LAB: L - 50, a, b; replaces ToTensor.",
    .fixed = true,
    .gives_floats = true,
    .apply = apply,
};
