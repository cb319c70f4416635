// Turns bytes into floats, and normalises floats.
#ifndef SR_DATA_PIXELS_PIXEL_FLOAT_H
#define SR_DATA_PIXELS_PIXEL_FLOAT_H

#include "data/pixels/pixel.h"

// / 255; rgb becomes NULL.  Floats stay as they are.
SrStatus sr_pixel_to_tensor(SrImage *image, SrImagePool *pool);
// Does sr_pixel_to_tensor and sr_pixel_normalize in one walk into out (H, W, C).  For bytes a
// product and a sum replace the divisions, which changes results by about 1e-7.
void sr_pixel_to_normalized(SrImage *image, const double *mean, const double *std, float *out);
// mean, std: (C) one value for each channel.
void sr_pixel_normalize(SrImage *image, const double *mean, const double *std);

#endif
