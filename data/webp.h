// Decodes WebP through libwebp, in builds that found the library (SR_WEBP).
#ifndef SR_DATA_WEBP_H
#define SR_DATA_WEBP_H

#include "data/image_header.h"
#include "data/image_pool.h"

// Decodes a still image to the pixels that PIL gives; alpha is dropped.  SR_ERR_IO: a bad image.
SrStatus sr__webp_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                         SrImagePool *pool, SrImage *out);

#endif
