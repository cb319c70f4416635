// Draws and applies a colour jitter: factors are uniform in their ranges, operations in random
// order.
#include "data/augment/shared/jitter.h"

#include "base/compiler.h"
#include "data/pixels/pixel_color.h"
#include "data/transform.h"

// Factors below 0 would invert; torchvision cuts them off at 0.
SrJitterRanges sr__jitter_ranges(double brightness, double contrast, double saturation,
                                 double hue) {
    return (SrJitterRanges){{{SR_MAX(0, 1 - brightness), 1 + brightness},
                             {SR_MAX(0, 1 - contrast), 1 + contrast},
                             {SR_MAX(0, 1 - saturation), 1 + saturation},
                             {-hue, hue}}};
}

// Draws the order first, then four factors, used or not: the stream does not depend on the ranges.
SrJitter sr__jitter_draw(SrRng *rng, const SrJitterRanges *ranges) {
    SrJitter jitter;
    uint32_t order[4];
    sr_rng_permutation(rng, order, 4);
    for (int i = 0; i < 4; i++) {
        const double *range = ranges->range[i];
        double nothing = i == SR_COLOR_HUE ? 0 : 1;
        jitter.order[i] = (int)order[i];
        jitter.used[i] = range[0] != nothing || range[1] != nothing;
        jitter.factor[i] = sr_rng_range(rng, range[0], range[1]);
    }
    return jitter;
}

void sr__jitter_tell(const SrTransformContext *ctx, int v, const SrJitter *jitter, bool gray) {
    static const char *const names[] = {"brightness", "contrast", "saturation", "hue"};
    for (int i = 0; jitter && i < 4; i++) {
        int kind = jitter->order[i];
        if (jitter->used[kind])
            sr__tell(ctx, v, kind == SR_COLOR_HUE ? "%s %+.2f" : "%s x %.2f", names[kind],
                     jitter->factor[kind]);
    }
    if (gray)
        sr__tell(ctx, v, "grey");
}

// A factor drawn as exactly 1 is skipped by the pixel function; a hue shift of 0 is not, because
// the way through 8-bit HSV changes levels and PIL takes it too.
void sr__jitter_apply(const SrJitter *jitter, bool gray, SrImage *image) {
    SrColorStep steps[5];
    int n = 0;
    for (int i = 0; jitter && i < 4; i++) {
        int kind = jitter->order[i];
        if (jitter->used[kind])
            steps[n++] = (SrColorStep){(SrColorKind)kind, jitter->factor[kind]};
    }
    if (gray)
        steps[n++] = (SrColorStep){SR_COLOR_GRAY, 0};
    sr_pixel_color(image, steps, n);
}
