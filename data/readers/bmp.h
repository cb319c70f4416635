// Reads Windows bitmaps: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits, bottom up or top down,
// with the headers of OS/2 and of Windows (BITMAPCOREHEADER to BITMAPV5HEADER).
#ifndef SR_DATA_READERS_BMP_H
#define SR_DATA_READERS_BMP_H

#include "data/image_header.h"
#include "data/image_pool.h"

// Reads the header of a file that begins with BM.  SR_ERR_IO: the header is damaged, the file is
// cut off, or its pixels are compressed (run lengths, JPEG or PNG).
SrStatus sr__bmp_probe(const uint8_t *bytes, size_t n, SrImageHeader *out);
// Decodes to RGB; alpha is dropped.  Indices beyond the palette are black.
SrStatus sr__bmp_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                        SrImagePool *pool, SrImage *out);

#endif
