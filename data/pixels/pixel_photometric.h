// Changes of levels: PIL's ImageOps, and sharpness.
#ifndef SR_DATA_PIXELS_PIXEL_PHOTOMETRIC_H
#define SR_DATA_PIXELS_PIXEL_PHOTOMETRIC_H

#include "data/pixels/pixel.h"

void sr_pixel_solarize(SrImage *image, int threshold); // inverts levels >= threshold
void sr_pixel_posterize(SrImage *image, int bits);     // keeps the upper `bits` of 8
void sr_pixel_autocontrast(SrImage *image);            // each channel stretched to 0 .. 255
void sr_pixel_equalize(SrImage *image);                // each channel's histogram made even
void sr_pixel_invert(SrImage *image);
void sr_pixel_solarize_add(SrImage *image, int add); // levels below 128 grow, to 255 at most
SrStatus sr_pixel_sharpness(SrImage *image, double factor, SrImagePool *pool);

#endif
