// RandomResizedCrop: a box of random area and aspect, resized to a fixed size (torchvision).
#include <stddef.h>

#include "data/pipeline.h"
#include "data/pixel.h"

typedef struct {
    SrInts size;
    SrDoubles scale, ratio;
    int interpolation;
} Params;

// clang-format off
static const SrOption options[] = {
    {"size", SR_OPT_INTS, offsetof(Params, size), "224", 1, 65500, NULL, "Side of the result in pixels, or [height, width]."},
    {"scale", SR_OPT_FLOATS, offsetof(Params, scale), "[0.08, 1]", 1e-6, 1, NULL, "Range of the box's share of the image's area."},
    {"ratio", SR_OPT_FLOATS, offsetof(Params, ratio), "[0.75, 1.3333333333333333]", 1e-3, 1e3, NULL, "Range of width / height, drawn log-uniformly."},
    {"interpolation", SR_OPT_ENUM, offsetof(Params, interpolation), "bilinear", 0, 0, SR_FILTER_CHOICES, "Resampling filter, by name or PIL's number."},
    SR_OPTION_END};
// clang-format on

// Ranges are inclusive below and exclusive above; equal ends fix the value.
static SrStatus check_pair(const char *key, SrDoubles pair) {
    if (pair.n != 2 || pair.v[0] > pair.v[1])
        SR_FAIL(SR_ERR_CONFIG, "%s: expected [low, high] with low <= high", key);
    return SR_OK;
}

static SrStatus check(const void *params) {
    const Params *p = params;
    if (p->size.n < 1 || p->size.n > 2)
        SR_FAIL(SR_ERR_CONFIG, "size: expected a number or [height, width]");
    SR_TRY(check_pair("scale", p->scale));
    return check_pair("ratio", p->ratio);
}

// [height, width], or one number for both: v[n - 1] is the width in either case.
static SrStatus shape(const void *params, int *n, int h[64], int w[64]) {
    const Params *p = params;
    for (int v = 0; v < *n; v++) {
        h[v] = p->size.v[0];
        w[v] = p->size.v[p->size.n - 1];
    }
    return SR_OK;
}

// The box is drawn for each view from that view's own stream.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrImage src = views->view[v];
        SrRng rng = sr__transform_rng(ctx, v);
        SrBox box = sr_pixel_draw_box(&rng, src.H, src.W, p->scale.v, p->ratio.v);
        SR_TRY(sr_pixel_resize(&src, box, p->size.v[0], p->size.v[p->size.n - 1],
                               (SrFilter)(p->interpolation % 6), ctx->pool, &views->view[v]));
    }
    return SR_OK;
}

const SrTransform sr_transform_random_resized_crop = {
    .name = "RandomResizedCrop",
    .help = "Cuts a box of random area and aspect and resizes it.",
    .options = options,
    .params_bytes = sizeof(Params),
    .check = check,
    .shape = shape,
    .apply = apply,
};
