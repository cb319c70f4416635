// Crops boxes of images and resizes them, for the transforms that do both.  A flip that follows is
// done in the same pass.  In fast mode a file is decoded at a fraction of its size if every crop is
// much smaller than its box.
#ifndef SR_DATA_AUGMENT_SHARED_CROP_H
#define SR_DATA_AUGMENT_SHARED_CROP_H

#include "data/pipeline.h"
#include "data/pixels/pixel.h"

// Implement the hooks `check` and `shape` of transforms with an option `size` (a number or
// [height, width]) that give every view that size.
SrStatus sr__crop_size_check(const SrInts *size);
void sr__crop_size_shape(const SrInts *size, int n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]);

// RandomHorizontalFlip's parameters.
typedef struct {
    double p;
} SrFlip;
// Tells whether view v is flipped, drawn at the flip's own stage.
bool sr__flip_drawn(const SrFlip *flip, const SrTransformContext *ctx, int v, uint32_t stage);

// One view: a box in pixels of the full image, resized to h x w.
typedef struct {
    SrBox box;
    int h, w;
} SrCrop;

typedef struct {
    SrFilter filter;
    const SrFlip *flip; // absorbed flip; NULL: none
    uint32_t flip_stage;
} SrCropStyle;

// Implements SrTransform.absorb: absorbs a RandomHorizontalFlip.
bool sr__crop_absorb(SrCropStyle *style, const SrTransform *next, const void *params,
                     uint32_t stage);
// Decodes an image if necessary and makes n crops of it into out (n), which may hold src.  The
// crops are views [first, first + n).
SrStatus sr__crop_all(const SrCropStyle *style, const SrTransformContext *ctx, SrImage src,
                      const SrCrop *crops, int first, int n, SrImage *out);

#endif
