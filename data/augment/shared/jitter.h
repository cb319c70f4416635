// Colour jitter for torchvision's ColorJitter and the two transforms of VISSL that contain it.
#ifndef SR_DATA_AUGMENT_SHARED_JITTER_H
#define SR_DATA_AUGMENT_SHARED_JITTER_H

#include "data/pixels/pixel.h"
#include "data/transform.h"

// One draw: the four operations in their order, and their factors.
typedef struct {
    int order[4];     // SrColorKind, brightness .. hue
    bool used[4];     // by kind; false: the range allows no effect, and the operation is left out
    double factor[4]; // by kind
} SrJitter;

// Ranges [low, high] of the factors, by SrColorKind.  low == high == 1 (hue: 0): the operation is
// left out.
typedef struct {
    double range[4][2];
} SrJitterRanges;

// Makes ranges from strengths as torchvision reads single numbers.
SrJitterRanges sr__jitter_ranges(double brightness, double contrast, double saturation, double hue);
SrJitter sr__jitter_draw(SrRng *rng, const SrJitterRanges *ranges);
// Adds the draw in words to the report of view v (sr__tell).  jitter NULL: grey alone.
void sr__jitter_tell(const SrTransformContext *ctx, int v, const SrJitter *jitter, bool gray);
// Applies the draw, then grey (the luma in all channels) if asked for.  jitter NULL: grey alone.
void sr__jitter_apply(const SrJitter *jitter, bool gray, SrImage *image);

#endif
