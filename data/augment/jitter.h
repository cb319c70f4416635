// Colour jitter, shared by torchvision's ColorJitter and VISSL's two transforms that contain it.
#ifndef SR_DATA_AUGMENT_JITTER_H
#define SR_DATA_AUGMENT_JITTER_H

#include "data/pixels/pixel.h"

// One draw: the four operations in the order they are done, and their factors (by kind).
typedef struct {
    int order[4];     // SrColorKind, brightness .. hue
    bool used[4];     // by kind; an operation whose range is a point without effect is left out
    double factor[4]; // by kind
} SrJitter;

// Ranges [low, high] of the factors, by kind; low == high == 1 (hue: 0) means the operation is not
// done.
typedef struct {
    double range[4][2];
} SrJitterRanges;

// brightness, contrast, saturation and hue strengths as torchvision reads single numbers.
SrJitterRanges sr__jitter_ranges(double brightness, double contrast, double saturation, double hue);
SrJitter sr__jitter_draw(SrRng *rng, const SrJitterRanges *ranges);
// jitter NULL: none; gray: the luma of the result in all channels.
// In words, to what view v of ctx is told to have drawn; jitter NULL: grey alone.
void sr__jitter_tell(const SrTransformContext *ctx, int v, const SrJitter *jitter, bool gray);
void sr__jitter_apply(const SrJitter *jitter, bool gray, SrImage *image);

#endif
