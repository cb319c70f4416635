// WebP through libwebp, in builds that found it (SR_WEBP in gen/build.h).
#ifndef SR_DATA_WEBP_H
#define SR_DATA_WEBP_H

#include "data/data.h"
#include "data/image_header.h"

// PIL's pixels of a still image: alpha is dropped.  SR_ERR_IO with the reason.
SrStatus sr__webp_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                         SrImagePool *pool, SrImage *out);

#endif
