// Decodes image files to pixels, by the decoder that this build has for their format.
#ifndef SR_DATA_DECODE_H
#define SR_DATA_DECODE_H

#include "data/image_pool.h"

const char *sr_image_decoder_name(void); // decoder of JPEG: "libjpeg-turbo" or "stb_image"
const char *sr_image_webp_name(void);    // decoder of WebP: "libwebp" or "nothing"
const char *sr_image_tiff_name(void);    // decoder of TIFF: "libtiff" or "nothing"
const char *sr_image_heif_name(void);    // decoder of HEIC and AVIF: "libheif" or "nothing"

// Decodes an image file to RGB as PIL's exif_transpose and convert("RGB") do.  The size is read
// first and bounded: 1 to 65500 pixels per side and SR_IMAGE_MAX_PIXELS in all.  Of 16 bits the
// upper 8 are kept; PIL clips all levels of 16-bit grey above 255.  SR_ERR_IO: a bad image.
SrStatus sr_image_decode(const void *bytes, size_t n, SrImagePool *pool, SrImage *out);
// The first half of sr_image_decode: reads the size and leaves the image encoded.  `bytes` stay the
// caller's and must live as long as the image is encoded.
SrStatus sr_image_open(const void *bytes, size_t n, SrImage *out);
// The second half: decodes an encoded image, to floats if image->channels is set: TIFF and PNG
// keep all bits of their samples.  Does nothing if the image has its pixels.  reduce 1,
// 2, 4 or 8: H and W are divided by it and rounded up if the decoder can do that (JPEG with
// libjpeg-turbo); other decoders keep the size.
SrStatus sr_image_finish(SrImage *image, int reduce, SrImagePool *pool);

#endif
