// JPEG through libjpeg-turbo's TurboJPEG interface, in builds that found it (SR_TURBOJPEG in gen/build.h).
#ifndef SR_DATA_JPEG_TURBO_H
#define SR_DATA_JPEG_TURBO_H

#include "data/data.h"
#include "data/image_header.h"

// PIL's pixels: the accurate inverse DCT and smooth chroma, CMYK as Adobe writes it.  At 1/reduce of the size (1, 2, 4,
// 8; sides rounded up) the inverse DCT is taken over fewer coefficients, which is a box filter in all but name.
SrStatus sr__jpeg_turbo_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                               int reduce, SrImagePool *pool, SrImage *out);

#endif
