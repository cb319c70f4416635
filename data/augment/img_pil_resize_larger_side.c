// ImgPilResizeLargerSide: the longer side becomes `size`, the aspect stays (VISSL, for retrieval).
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_resample.h"
#include "data/transform.h"

typedef struct {
    int size;
} Params;

// clang-format off
static const SrOption options[] = {
    {"size", SR_OPT_INT, offsetof(Params, size), "1024", 1, 65500, .help = "Length of the longer side in pixels."},
    SR_OPTION_END};
// clang-format on

// Halves are rounded to even, as numpy does; 0: not known.
static void fit(int H, int W, int size, int *h, int *w) {
    double scale = (double)size / SR_MAX(H, W);
    *h = SR_MAX(1, (int)lrint(H * scale));
    *w = SR_MAX(1, (int)lrint(W * scale));
}

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    for (int v = 0; v < *n; v++)
        if (h[v] > 0 && w[v] > 0)
            fit(h[v], w[v], p->size, &h[v], &w[v]);
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrImage src = views->view[v];
        int h, w;
        fit(src.H, src.W, p->size, &h, &w);
        SR_TRY(sr_pixel_resize(&src, (SrBox){0, 0, src.H, src.W}, h, w, SR_FILTER_BILINEAR,
                               ctx->pool, &views->view[v]));
    }
    return SR_OK;
}

const SrTransform sr_transform_img_pil_resize_larger_side = {
    .name = "ImgPilResizeLargerSide",
    .help = "Resizes so that the longer side has `size` pixels.",
    .fixed = true,
    .options = options,
    .params_bytes = sizeof(Params),
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
