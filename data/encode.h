// Images to files: PNG where every pixel counts, JPEG for thumbnails on a page.  stb_image_write's encoders; no image is
// read here (decode.c).
#ifndef SR_DATA_ENCODE_H
#define SR_DATA_ENCODE_H

#include <stdint.h>

#include "base/text.h"

// Appends the encoded picture to out; rgb: (h, w, 3).  When memory is out, out->failed.
void sr_png_encode(const uint8_t *rgb, int h, int w, SrText *out);
void sr_jpeg_encode(const uint8_t *rgb, int h, int w, int quality, SrText *out); // 1 to 100

#endif
