// RandomErasing in two halves, drawing and erasing, so that tests can replay recorded draws.
#ifndef SR_DATA_AUGMENT_SHARED_ERASING_H
#define SR_DATA_AUGMENT_SHARED_ERASING_H

#include "base/rng.h"
#include "data/image.h"
#include "data/pixels/pixel.h"

// Draws a box as torchvision's RandomErasing.get_params does: up to 10 times (area, aspect), then
// top and left.  False: no box that is smaller than the image in both directions was found.
bool sr__erasing_draw(SrRng *rng, int H, int W, const double scale[2], const double ratio[2],
                      SrBox *box);
// Overwrites the box of a float image (H, W, C) with `level`, (n_levels) one value for each channel
// or one for all, or with standard normal numbers from `noise`; noise NULL: `level`.
void sr__erasing_apply(SrImage *image, SrBox box, const double *level, int n_levels, SrRng *noise);

#endif
