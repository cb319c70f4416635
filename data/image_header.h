// Reads and bounds the headers of JPEG, PNG and WebP files before any decoder runs.
#ifndef SR_DATA_IMAGE_HEADER_H
#define SR_DATA_IMAGE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum { SR_IMAGE_PNG, SR_IMAGE_JPEG, SR_IMAGE_WEBP, SR_IMAGE_FORMATS } SrImageFormat;

typedef struct {
    SrImageFormat format;
    int H, W;
    int components; // number of planes of a JPEG: 1, 3 or 4
    size_t plte;    // offset of a PNG's palette chunk; 0: no palette
    int plte_bytes; // length of the palette, a multiple of 3
} SrImageHeader;

// Reads the header of a file of n bytes.  SR_ERR_IO with the reason:
//  * The file has another format, or it is an animation.
//  * A side exceeds 65500 pixels, or the image SR_IMAGE_MAX_PIXELS.
//  * So many pixels cannot be encoded in n bytes.
//  * The decoder would fail or give wrong pixels: Huffman tables of more than 256 codes, four
//    components without Adobe's marker, hundreds of scans.
SrStatus sr__image_header_read(const uint8_t *bytes, size_t n, SrImageHeader *out);

#endif
