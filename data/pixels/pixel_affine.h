// Affine maps and rotations that interpolate between pixels.
#ifndef SR_DATA_PIXELS_PIXEL_AFFINE_H
#define SR_DATA_PIXELS_PIXEL_AFFINE_H

#include "data/pixels/pixel.h"

// Applies PIL's AFFINE, where m maps output to input: x' = m[0] x + m[1] y + m[2] and y' = m[3] x +
// m[4] y + m[5].  The filter is bilinear or bicubic; pixels from outside have level `fill`.
SrStatus sr_pixel_affine(SrImage *image, const double m[6], SrFilter filter, int fill,
                         SrImagePool *pool);
SrStatus sr_pixel_rotate_filtered(SrImage *image, double degrees, SrFilter filter, int fill,
                                  SrImagePool *pool);

#endif
