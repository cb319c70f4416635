// The orientation that a camera notes in a picture (EXIF 2.32, tag 0x0112), and turning a picture
// by it.
#ifndef SR_DATA_READERS_EXIF_H
#define SR_DATA_READERS_EXIF_H

#include "data/image_pool.h"

// Returns the orientation in a block of n bytes that begins as a TIFF file does, after an optional
// "Exif\0\0": 1 to 8, and 1 if the block has none or is damaged.
int sr__exif_orientation(const uint8_t *block, size_t n);
// Turns and mirrors the picture, so that it stands upright; height and width change places for
// orientations above 4.  Orientation 1 changes nothing.
SrStatus sr__exif_turn(SrImage *image, int orientation, SrImagePool *pool);

#endif
