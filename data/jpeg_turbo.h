// Decodes JPEG through libjpeg-turbo's TurboJPEG interface, in builds that found the library
// (SR_TURBOJPEG).
#ifndef SR_DATA_JPEG_TURBO_H
#define SR_DATA_JPEG_TURBO_H

#include "data/image_header.h"
#include "data/image_pool.h"

// Decodes to the pixels that PIL gives: accurate inverse DCT, smooth chroma, CMYK as Adobe writes
// it. reduce 1, 2, 4 or 8: sides are divided by it and rounded up.  The inverse DCT then takes
// fewer coefficients, which acts as a box filter.
SrStatus sr__jpeg_turbo_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                               int reduce, SrImagePool *pool, SrImage *out);

#endif
