// CenterCrop: the middle of an image, with black around it when the image is smaller (torchvision).
#include <stddef.h>

#include "data/augment/shared/crop.h"
#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"

// The box never depends on chance, so evaluation sees the same pixels every time.
typedef struct {
    SrInts size;
} Params;

// clang-format off
static const SrOption options[] = {
    {"size", SR_OPT_INTS, offsetof(Params, size), "224", 1, 65500, .help = "Side of the result in pixels, or [height, width]."},
    SR_OPTION_END};
// clang-format on

static SrStatus check(const void *params) {
    return sr__crop_size_check(&((const Params *)params)->size);
}

// The outgoing size is fixed, so this settles a size that Resize left open.
static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    sr__crop_size_shape(&((const Params *)params)->size, *n, h, w);
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    int h = p->size.v[0], w = p->size.v[p->size.n - 1];
    for (int v = 0; v < views->n; v++) {
        SrImage src = views->view[v];
        // An image of the right size already is left where it is.
        if (src.H != h || src.W != w)
            SR_TRY(sr_pixel_crop(&src, sr_pixel_center_box(src.H, src.W, h, w), ctx->pool,
                                 &views->view[v]));
    }
    return SR_OK;
}

const SrTransform sr_transform_center_crop = {
    .name = "CenterCrop",
    .help = "Cuts the middle out of an image; a smaller image gets a black border.",
    .fixed = true,
    .options = options,
    .params_bytes = sizeof(Params),
    .check = check,
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
