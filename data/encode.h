// Encodes images as PNG, which keeps every pixel, or as JPEG for thumbnails on a page.  The
// encoders are stb_image_write's.  decode.c reads images.
#ifndef SR_DATA_ENCODE_H
#define SR_DATA_ENCODE_H

#include <stdint.h>

#include "base/text/text.h"

// Appends the encoded picture to out.  rgb: (h, w, 3).  Out of memory: out->failed is set.
void sr_png_encode(const uint8_t *rgb, int h, int w, SrText *out);
void sr_jpeg_encode(const uint8_t *rgb, int h, int w, int quality, SrText *out); // quality 1 to 100

#endif
