// Moves pixels without changing them, and places boxes in images.
#ifndef SR_DATA_PIXELS_PIXEL_GEOMETRY_H
#define SR_DATA_PIXELS_PIXEL_GEOMETRY_H

#include "base/rng.h"
#include "data/pixels/pixel.h"

// Cuts out a box of src; parts outside src are black.
SrStatus sr_pixel_crop(const SrImage *src, SrBox box, SrImagePool *pool, SrImage *out);
SrStatus sr_pixel_copy(const SrImage *src, SrImagePool *pool, SrImage *out);
void sr_pixel_flip(SrImage *image); // left to right
// Rotates counter-clockwise by `degrees` about the centre by nearest neighbour.  The size stays,
// and pixels from outside are black.
SrStatus sr_pixel_rotate(SrImage *image, double degrees, SrImagePool *pool);

// Draws a box as torchvision's RandomResizedCrop.get_params does: up to 10 times (area, aspect),
// then top and left.
SrBox sr_pixel_draw_box(SrRng *rng, int H, int W, const double scale[2], const double ratio[2]);
// Gives the size after torchvision's Resize(size): the shorter side becomes `size`.
void sr_pixel_fit_shorter(int H, int W, int size, int *h, int *w);
// Returns the centred box of h x w, which lies partly outside if the image is smaller.
SrBox sr_pixel_center_box(int H, int W, int h, int w);

#endif
