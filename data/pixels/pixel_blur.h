// Gaussian blur.
#ifndef SR_DATA_PIXELS_PIXEL_BLUR_H
#define SR_DATA_PIXELS_PIXEL_BLUR_H

#include "data/pixels/pixel.h"

// PIL's GaussianBlur(radius): three extended box blurs each way (Gwosdek et al., SSVM 2011).
SrStatus sr_pixel_blur(SrImage *image, double radius, SrImagePool *pool);

#endif
