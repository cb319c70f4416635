// Reads and bounds the headers of image files before any decoder runs.
#ifndef SR_DATA_IMAGE_PROBE_H
#define SR_DATA_IMAGE_PROBE_H

#include "data/image_header.h"

// Reads the header of a file of n bytes.  SR_ERR_IO with the reason:
//  * The file has another format, or it is an animation.
//  * A side exceeds 65500 pixels, or the image SR_IMAGE_MAX_PIXELS.
//  * So many pixels cannot be encoded in n bytes.
//  * The decoder would fail or give wrong pixels: Huffman tables of more than 256 codes, four
//    components without Adobe's marker, hundreds of scans.
SrStatus sr__image_header_read(const uint8_t *bytes, size_t n, SrImageHeader *out);

#endif
