// Drawing and doing a colour jitter: factors uniform in their ranges, the operations in a random
// order.
#include "data/augment/jitter.h"

#include "base/compiler.h"

// Factors below 0 would invert; torchvision cuts them off at 0.
SrJitterRanges sr__jitter_ranges(double brightness, double contrast, double saturation,
                                 double hue) {
    return (SrJitterRanges){{{SR_MAX(0, 1 - brightness), 1 + brightness},
                             {SR_MAX(0, 1 - contrast), 1 + contrast},
                             {SR_MAX(0, 1 - saturation), 1 + saturation},
                             {-hue, hue}}};
}

// Order first, then four factors, used or not: the stream's layout does not depend on the ranges.
SrJitter sr__jitter_draw(SrRng *rng, const SrJitterRanges *ranges) {
    SrJitter jitter;
    uint32_t order[4];
    sr_rng_permutation(rng, order, 4);
    for (int i = 0; i < 4; i++) {
        const double *range = ranges->range[i];
        double nothing = i == SR_JITTER_HUE ? 0 : 1;
        jitter.order[i] = (int)order[i];
        jitter.used[i] = range[0] != nothing || range[1] != nothing;
        jitter.factor[i] = sr_rng_range(rng, range[0], range[1]);
    }
    return jitter;
}

// A factor drawn as exactly 1 is skipped by the pixel function; a hue shift of 0 is not, because
// the way through 8-bit HSV changes levels and PIL takes it too.
void sr__jitter_apply(const SrJitter *jitter, SrImage *image) {
    static void (*const apply[4])(SrImage *, double) = {sr_pixel_brightness, sr_pixel_contrast,
                                                        sr_pixel_saturation, sr_pixel_hue};
    for (int i = 0; i < 4; i++) {
        int kind = jitter->order[i];
        if (jitter->used[kind])
            apply[kind](image, jitter->factor[kind]);
    }
}
