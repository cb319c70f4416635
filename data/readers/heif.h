// Decodes HEIC and AVIF through libheif, in builds that found the library (SR_HEIF).
#ifndef SR_DATA_READERS_HEIF_H
#define SR_DATA_READERS_HEIF_H

#include "data/image_header.h"
#include "data/image_pool.h"

// Reads the size of the primary picture after its rotations and mirrors, which the library obeys.
// SR_ERR_IO: the file is damaged, or has no picture.
SrStatus sr__heif_probe(const uint8_t *bytes, size_t n, SrImageHeader *out);
// Decodes the primary picture to RGB of 8 bits; alpha is dropped.  SR_ERR_IO: a bad image, or one
// whose codec the library lacks.
SrStatus sr__heif_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                         SrImagePool *pool, SrImage *out);

#endif
