// Pixel arithmetic on images of floats with any number of channels: what pixel.h does with RGB of 8
// bits.  The functions of pixel.h call these when an image has floats.
//
// Results equal those of PIL's mode F, channel by channel: sums in double precision, rounded to
// single precision after each pass.
#ifndef SR_DATA_PIXELS_PIXEL_WIDE_H
#define SR_DATA_PIXELS_PIXEL_WIDE_H

#include "data/pixels/pixel.h"

SrStatus sr__wide_resample(const SrImage *src, SrArea area, SrResample how, SrImagePool *pool,
                           SrImage *out);
void sr__wide_flip(SrImage *image);
// Blurs by three extended box blurs per axis, as sr_pixel_blur does, without rounding to levels.
SrStatus sr__wide_blur(SrImage *image, double radius, SrImagePool *pool);

#endif
