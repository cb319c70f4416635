// RandomResizedCrop: a box of random area and aspect, resized to a fixed size (torchvision).
#include <stddef.h>

#include "data/augment/shared/crop.h"
#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"

typedef struct {
    SrInts size;
    SrDoubles scale, ratio;
    int interpolation;
    SrCropStyle style;
} Params;

// clang-format off
static const SrOption options[] = {
    {"size", SR_OPT_INTS, offsetof(Params, size), "224", 1, 65500, .help = "Side of the result in pixels, or [height, width]."},
    {"scale", SR_OPT_FLOATS, offsetof(Params, scale), "[0.08, 1]", 1e-6, 1, .help = "Range of the box's share of the image's area."},
    {"ratio", SR_OPT_FLOATS, offsetof(Params, ratio), "[0.75, 1.3333333333333333]", 1e-3, 1e3, .help = "Range of width / height, drawn log-uniformly."},
    {"interpolation", SR_OPT_ENUM, offsetof(Params, interpolation), "bilinear", .choices = SR_FILTER_CHOICES, .help = "Resampling filter, by name or PIL's number."},
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
    SR_TRY(sr__crop_size_check(&p->size));
    SR_TRY(check_pair("scale", p->scale));
    return check_pair("ratio", p->ratio);
}

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    sr__crop_size_shape(&((const Params *)params)->size, *n, h, w);
    return SR_OK;
}

static SrStatus prepare(void *params, const char *where, uint32_t stage, SrArena *arena) {
    (void)where;
    (void)stage;
    (void)arena;
    Params *p = params;
    p->style.filter = (SrFilter)(p->interpolation % SR_FILTERS);
    return SR_OK;
}

static bool absorb(void *params, const SrTransform *next, const void *next_params,
                   uint32_t next_stage) {
    return sr__crop_absorb(&((Params *)params)->style, next, next_params, next_stage);
}

// The box is drawn for each view from that view's own stream.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    for (int v = 0; v < views->n; v++) {
        SrImage src = views->view[v];
        SrRng rng = sr__transform_rng(ctx, v);
        SrBox box = sr_pixel_draw_box(&rng, src.H, src.W, p->scale.v, p->ratio.v);
        SrCrop crop = {box, p->size.v[0], p->size.v[p->size.n - 1]};
        SR_TRY(sr__crop_all(&p->style, ctx, src, &crop, v, 1, &views->view[v]));
    }
    return SR_OK;
}

const SrTransform sr_transform_random_resized_crop = {
    .name = "RandomResizedCrop",
    .help = "Cuts a box of random area and aspect and resizes it.",
    .options = options,
    .params_bytes = sizeof(Params),
    .box_scale = "scale",
    .takes_encoded = true,
    .prepare = prepare,
    .check = check,
    .absorb = absorb,
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
