// What the transforms that cut and resize share: the flip that follows is done on the way, and in fast
// mode a file of which every crop is much smaller than its box is decoded at a fraction.
#ifndef SR_DATA_AUGMENT_CROP_H
#define SR_DATA_AUGMENT_CROP_H

#include "data/pipeline.h"
#include "data/pixels/pixel.h"

// `size` of transforms, a number or [height, width], and what the hooks `check` and `shape` of those that give every
// view that size do with it.
SrStatus sr__crop_size_check(const SrInts *size);
void sr__crop_size_shape(const SrInts *size, int n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]);

// RandomHorizontalFlip's parameters.
typedef struct {
    double p;
} SrFlip;
// View v's coin at the flip's own stage.
bool sr__flip_drawn(const SrFlip *flip, const SrTransformContext *ctx, int v, uint32_t stage);

// One view: a box of the image in its full size, resized to h x w.
typedef struct {
    SrBox box;
    int h, w;
} SrCrop;

typedef struct {
    SrFilter filter;
    const SrFlip *flip; // absorbed, or NULL
    uint32_t flip_stage;
} SrCropStyle;

// For SrTransform.absorb: takes a RandomHorizontalFlip.
bool sr__crop_absorb(SrCropStyle *style, const SrTransform *next, const void *params,
                     uint32_t stage);
// All n crops of one image, finishing it first; they are views [first, first + n) and go to out (n),
// which may hold src.
SrStatus sr__crop_all(const SrCropStyle *style, const SrTransformContext *ctx, SrImage src,
                      const SrCrop *crops, int first, int n, SrImage *out);

#endif
