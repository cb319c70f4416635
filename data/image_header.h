// Describes the header of an image file, whatever its format.  image_probe.h reads it.
#ifndef SR_DATA_IMAGE_HEADER_H
#define SR_DATA_IMAGE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Formats by content.  PNM is PGM and PPM; HEIF is HEIC and AVIF.
typedef enum {
    SR_IMAGE_PNG,
    SR_IMAGE_JPEG,
    SR_IMAGE_WEBP,
    SR_IMAGE_PNM,
    SR_IMAGE_BMP,
    SR_IMAGE_GIF,
    SR_IMAGE_TIFF,
    SR_IMAGE_HEIF,
    SR_IMAGE_DICOM,
    SR_IMAGE_FORMATS
} SrImageFormat;

typedef struct {
    SrImageFormat format;
    int H, W;        // as stored, before the orientation is obeyed
    int orientation; // EXIF's, 1 (upright) to 8; above 4 height and width change places
    int components;  // number of channels, where the header tells: 1 is grey; 0: not read
    int samples;     // samples per pixel of TIFF, PNG and DICOM, without opacity; 0: not read
    int bits;        // of a sample of TIFF, PNG and DICOM; 0: not read
    size_t plte;     // offset of a PNG's palette chunk; 0: no palette
    int plte_bytes;  // length of the palette, a multiple of 3
} SrImageHeader;

// Gives height and width after the orientation is obeyed.
void sr__image_header_upright(const SrImageHeader *header, int *h, int *w);
const char *sr__image_format_name(SrImageFormat format); // "JPEG", "PGM or PPM"
// Sets the size in *out.  SR_ERR_IO: a side exceeds 65500 pixels or the image SR_IMAGE_MAX_PIXELS,
// or n bytes cannot hold that many pixels, of which `per_byte` at most come from one byte.
SrStatus sr__image_check_size(SrImageHeader *out, uint32_t h, uint32_t w, size_t n,
                              int64_t per_byte);

#endif
