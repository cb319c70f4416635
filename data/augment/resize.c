// Resize: the shorter side to a size, or both sides to [height, width] (torchvision).
#include <stddef.h>

#include "base/compiler.h"
#include "data/augment/shared/crop.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_resample.h"
#include "data/transform.h"

typedef struct {
    SrInts size;
    int interpolation;
} Params;

// clang-format off
static const SrOption options[] = {
    {"size", SR_OPT_INTS, offsetof(Params, size), "256", 1, 65500, .help = "Length of the shorter side in pixels, or [height, width]."},
    {"interpolation", SR_OPT_ENUM, offsetof(Params, interpolation), "bilinear", .choices = SR_FILTER_CHOICES, .help = "Resampling filter, by name or PIL's number."},
    SR_OPTION_END};
// clang-format on

static SrStatus check(const void *params) {
    return sr__crop_size_check(&((const Params *)params)->size);
}

// One number keeps the aspect, two do not.
static void target(const Params *p, int H, int W, int *h, int *w) {
    *h = p->size.v[0];
    *w = p->size.v[p->size.n - 1];
    if (p->size.n == 1)
        sr_pixel_fit_shorter(H, W, p->size.v[0], h, w);
}

// With one number the size stays open unless the incoming size is known.
static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    for (int v = 0; v < *n; v++)
        if (p->size.n == 2 || (h[v] && w[v]))
            target(p, SR_MAX(h[v], 1), SR_MAX(w[v], 1), &h[v], &w[v]);
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrImage src = views->view[v];
        int h, w;
        target(p, src.H, src.W, &h, &w);
        if (h != src.H || w != src.W)
            SR_TRY(sr_pixel_resize(&src, (SrBox){0, 0, src.H, src.W}, h, w,
                                   (SrFilter)(p->interpolation % SR_FILTERS), ctx->pool,
                                   &views->view[v]));
    }
    return SR_OK;
}

const SrTransform sr_transform_resize = {
    .name = "Resize",
    .help = "Resizes with antialiasing.",
    .fixed = true,
    .options = options,
    .params_bytes = sizeof(Params),
    .check = check,
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
