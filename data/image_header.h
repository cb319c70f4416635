// What a JPEG, PNG or WebP says about itself, read and bounded before any decoder runs.
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
    int components; // JPEG: 1, 3 or 4 planes
    size_t plte;    // PNG: offset of the palette's chunk, 0 if none
    int plte_bytes; // its length, a multiple of 3
} SrImageHeader;

// SR_ERR_IO with the reason: another format (named where it is known), an animation, a side beyond 65500, more than PIL's 178,956,970
// pixels, more pixels than that many bytes can encode, and everything the decoder would not survive
// or render wrongly (Huffman tables of more than 256 codes, four components without Adobe's marker,
// hundreds of scans).
SrStatus sr__image_header_read(const uint8_t *bytes, size_t n, SrImageHeader *out);

#endif
