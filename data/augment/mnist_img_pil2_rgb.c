// MNISTImgPil2RGB: puts the image on a black one of another size (VISSL).  VISSL also makes RGB
// of one channel; here the data set does that.
#include <stddef.h>

#include "data/pixels/pixel.h"
#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"

typedef struct {
    SrInts size, box;
} Params;

// clang-format off
static const SrOption options[] = {
    {"size", SR_OPT_INTS, offsetof(Params, size), "[]", 1, 65500,
     .help = "Width and height of the result, or one number for both; []: those of the image."},
    {"box", SR_OPT_INTS, offsetof(Params, box), "[0, 0]", -65500, 65500,
     .help = "Position of the image: [left, top] or [left, top, right, bottom]."},
    SR_OPTION_END};
// clang-format on

static SrStatus check(const void *params) {
    const Params *p = params;
    if (p->size.n > 2 || (p->box.n != 2 && p->box.n != 4))
        SR_FAIL(SR_ERR_CONFIG, "expected size: [width, height] and box: [left, top] or [left, top, "
                               "right, bottom]");
    return SR_OK;
}

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    for (int v = 0; v < *n && p->size.n > 0; v++) {
        w[v] = p->size.v[0];
        h[v] = p->size.v[p->size.n - 1];
    }
    return SR_OK;
}

// A crop of a box that begins above and left of the image is the image on black.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrImage src = views->view[v];
        int w = p->size.n > 0 ? p->size.v[0] : src.W,
            h = p->size.n > 0 ? p->size.v[p->size.n - 1] : src.H;
        int left = p->box.v[0], top = p->box.v[1];
        if (p->box.n == 4 && (p->box.v[2] - left != src.W || p->box.v[3] - top != src.H))
            SR_FAIL(SR_ERR_CONFIG, "box is %d x %d, but the image is %d x %d", p->box.v[2] - left,
                    p->box.v[3] - top, src.W, src.H);
        SR_TRY(sr_pixel_crop(&src, (SrBox){-top, -left, h, w}, ctx->pool, &views->view[v]));
    }
    return SR_OK;
}

const SrTransform sr_transform_mnist_img_pil2_rgb = {
    .name = "MNISTImgPil2RGB",
    .help = "Pastes the image into a black one.",
    .fixed = true,
    .options = options,
    .params_bytes = sizeof(Params),
    .check = check,
    .shape = shape,
    .apply = apply,
};
