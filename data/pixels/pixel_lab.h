// Conversion to the colour space Lab.
#ifndef SR_DATA_PIXELS_PIXEL_LAB_H
#define SR_DATA_PIXELS_PIXEL_LAB_H

#include "data/pixels/pixel.h"

// Converts by OpenCV's 8-bit BGR2LAB (fixed point, sRGB, D65) to three floats per pixel: L - 50 in
// -50 .. 50, then a and b in -128 .. 127.  rgb becomes NULL, and f is (H, W, 3).
SrStatus sr_pixel_to_lab(SrImage *image, SrImagePool *pool);

#endif
