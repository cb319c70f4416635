// Decodes the first page of a TIFF through libtiff, in builds that found the library (SR_TIFF).
#ifndef SR_DATA_READERS_TIFF_H
#define SR_DATA_READERS_TIFF_H

#include "data/image_header.h"
#include "data/image_pool.h"

// Reads size and orientation.  SR_ERR_IO: the file is damaged or too large.
SrStatus sr__tiff_probe(const uint8_t *bytes, size_t n, SrImageHeader *out);
// Decodes to RGB: grey, RGB, palettes, CMYK, YCbCr, strips and tiles.  Alpha and other channels
// after the third are dropped.  16 bits are rounded down to 8, as for PNG.  The orientation is left
// to the caller.  SR_ERR_IO: the file is damaged, or of a kind that no picture has (floats, 32-bit
// integers, more than 16 channels).
SrStatus sr__tiff_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                         SrImagePool *pool, SrImage *out);
// Decodes to floats of `channels` channels: samples of 8 and 16 bits over 255 and 65535, and floats
// as they are (0 for NaN and infinities).  Palettes, CMYK, YCbCr and other depths pass through RGB.
SrStatus sr__tiff_decode_floats(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                                int channels, SrImagePool *pool, SrImage *out);

#endif
