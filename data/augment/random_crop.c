// RandomCrop: a box of fixed size at a uniform place, after padding with black (torchvision).
//
// Where torchvision refuses an image smaller than the box, this one pads it (its pad_if_needed).
#include <stddef.h>

#include "data/augment/shared/crop.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"

typedef struct {
    SrInts size;
    int padding;
} Params;

// clang-format off
static const SrOption options[] = {
    {"size", SR_OPT_INTS, offsetof(Params, size), "224", 1, 65500, .help = "Side of the result in pixels, or [height, width]."},
    {"padding", SR_OPT_INT, offsetof(Params, padding), "0", 0, 4096, .help = "Black pixels added on every side first."},
    {"pad_if_needed", SR_OPT_IGNORED, 0, "true", .help = "smaller images are always padded"},
    SR_OPTION_END};
// clang-format on

static SrStatus check(const void *params) {
    return sr__crop_size_check(&((const Params *)params)->size);
}

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    sr__crop_size_shape(&((const Params *)params)->size, *n, h, w);
    return SR_OK;
}

// Uniform over the places of `size` in a padded `length`, relative to the unpadded image.
static int draw(SrRng *rng, int length, int size, int padding) {
    int room = length + 2 * padding - size;
    if (room < 0) {
        padding -= room; // as torchvision: the missing pixels on both sides
        room = -room;
    }
    return (int)sr_rng_below(rng, (uint32_t)room + 1) - padding;
}

// The box may reach outside the image: cropping pads with black by itself, without a padded copy.
static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    int h = p->size.v[0], w = p->size.v[p->size.n - 1];
    for (int v = 0; v < views->n; v++) {
        SrImage src = views->view[v];
        SrRng rng = sr__transform_rng(ctx, v);
        int top = draw(&rng, src.H, h, p->padding), left = draw(&rng, src.W, w, p->padding);
        sr__tell(ctx, v, "cut %d x %d at %d, %d", w, h, left, top);
        SR_TRY(sr_pixel_crop(&src, (SrBox){top, left, h, w}, ctx->pool, &views->view[v]));
    }
    return SR_OK;
}

const SrTransform sr_transform_random_crop = {
    .name = "RandomCrop",
    .help = "Cuts a box of fixed size at a random place, after padding with black.",
    .options = options,
    .params_bytes = sizeof(Params),
    .check = check,
    .shape = shape,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
