// Decodes the first page of a TIFF through libtiff, in builds that found the library (SR_TIFF).
#ifndef SR_DATA_READERS_TIFF_H
#define SR_DATA_READERS_TIFF_H

#include "data/data.h"
#include "data/image_header.h"

// Reads size and orientation.  SR_ERR_IO: the file is damaged, too large, or of a kind that no
// picture has (floats, 32-bit integers, more than 16 channels).
SrStatus sr__tiff_probe(const uint8_t *bytes, size_t n, SrImageHeader *out);
// Decodes to RGB: grey, RGB, palettes, CMYK, YCbCr, strips and tiles.  Alpha and other channels
// after the third are dropped.  16 bits are rounded down to 8, as for PNG.  The orientation is left
// to the caller.
SrStatus sr__tiff_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                         SrImagePool *pool, SrImage *out);

#endif
