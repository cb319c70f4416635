// Pixel arithmetic on images of floats with any number of channels.  The other files of this folder
// work on RGB of 8 bits and call these functions when an image has floats.
//
// Results equal those of PIL's mode F, channel by channel: sums in double precision, rounded to
// single precision after each pass.
#ifndef SR_DATA_PIXELS_PIXEL_WIDE_H
#define SR_DATA_PIXELS_PIXEL_WIDE_H

#include "data/pixels/pixel.h"

SrStatus sr__wide_resample(const SrImage *src, SrArea area, SrResample how, SrImagePool *pool,
                           SrImage *out);
// Blurs by three extended box blurs per axis, as sr_pixel_blur does, without rounding to levels.
SrStatus sr__wide_blur(SrImage *image, double radius, SrImagePool *pool);

#endif
