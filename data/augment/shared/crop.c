// Cuts several views out of one image, which may not be decoded yet.
#include "data/augment/shared/crop.h"

#include <string.h>

#include "base/compiler.h"
#include "data/decode.h"
#include "data/pixels/pixel_resample.h"
#include "data/transform.h"

SrStatus sr__crop_size_check(const SrInts *size) {
    if (size->n < 1 || size->n > 2)
        SR_FAIL(SR_ERR_CONFIG, "size: expected a number or [height, width]");
    return SR_OK;
}

void sr__crop_size_shape(const SrInts *size, int n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    for (int v = 0; v < n; v++) {
        h[v] = size->v[0];
        w[v] = size->v[size->n - 1];
    }
}

bool sr__flip_drawn(const SrFlip *flip, const SrTransformContext *ctx, int v, uint32_t stage) {
    SrRng rng = sr__stage_rng(ctx, v, stage);
    return sr_rng_uniform(&rng) < flip->p;
}

bool sr__crop_absorb(SrCropStyle *style, const SrTransform *next, const void *params,
                     uint32_t stage) {
    if (strcmp(next->name, "RandomHorizontalFlip") != 0)
        return false;
    style->flip = params;
    style->flip_stage = stage;
    return true;
}

// Largest reduction out of 1, 2, 4, 8 at which no crop's box has fewer pixels than the crop.
// Resizing would have averaged the lost detail away.
static int reduction(const SrCrop *crops, int n) {
    int reduce = 8;
    for (int i = 0; i < n; i++)
        while (reduce > 1 &&
               (crops[i].box.h < reduce * crops[i].h || crops[i].box.w < reduce * crops[i].w))
            reduce /= 2;
    return reduce;
}

SrStatus sr__crop_all(const SrCropStyle *style, const SrTransformContext *ctx, SrImage src,
                      const SrCrop *crops, int first, int n, SrImage *out) {
    int full = src.W, full_h = src.H, reduce = ctx->fast ? reduction(crops, n) : 1;
    SR_TRY(sr_image_finish(&src, reduce, ctx->pool));
    double part = src.W == full ? 1 : 1.0 / reduce; // sides are rounded up, the scale is not
    for (int i = 0; i < n; i++) {
        SrBox b = crops[i].box;
        SrArea area = {b.top * part, b.left * part, b.h * part, b.w * part};
        bool flip = style->flip && sr__flip_drawn(style->flip, ctx, first + i, style->flip_stage);
        int percent = (int)(100 * ((double)b.h * b.w) / ((double)full * full_h) + 0.5);
        sr__tell(ctx, first + i, "crop %d %% of the area, %d x %d at %d, %d", percent, b.w, b.h,
                 b.left, b.top);
        if (flip)
            sr__tell(ctx, first + i, "mirrored");
        SrResample how = {.h = crops[i].h,
                          .w = crops[i].w,
                          .filter = style->filter,
                          .flip = flip,
                          .fast = ctx->fast};
        SR_TRY(sr_pixel_resample(&src, area, how, ctx->pool, &out[i]));
    }
    return SR_OK;
}
