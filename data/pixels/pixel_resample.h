// Resizes boxes and areas of images with antialiasing, as PIL does.
#ifndef SR_DATA_PIXELS_PIXEL_RESAMPLE_H
#define SR_DATA_PIXELS_PIXEL_RESAMPLE_H

#include "data/pixels/pixel.h"

// Cuts out a box of src and resizes it to h x w with antialiasing.  The box must lie inside src,
// and the filter does not look beyond the box.
SrStatus sr_pixel_resize(const SrImage *src, SrBox box, int h, int w, SrFilter filter,
                         SrImagePool *pool, SrImage *out);
// Resizes an area of src, which may begin and end between pixels.
SrStatus sr_pixel_resample(const SrImage *src, SrArea area, SrResample how, SrImagePool *pool,
                           SrImage *out);

#endif
