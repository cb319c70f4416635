// Bounds sizes that headers of images claim, and describes formats.
#include "data/image_header.h"

#include "data/image.h"

#define MAX_SIDE 65500 // libjpeg's limit

SrStatus sr__image_check_size(SrImageHeader *out, uint32_t h, uint32_t w, size_t n,
                              int64_t per_byte) {
    if (h < 1 || w < 1 || h > MAX_SIDE || w > MAX_SIDE)
        SR_FAIL(SR_ERR_IO, "the image has %u x %u pixels, expected 1 to %d per side", w, h,
                MAX_SIDE);
    int64_t pixels = (int64_t)h * w;
    if (pixels > SR_IMAGE_MAX_PIXELS)
        SR_FAIL(SR_ERR_IO, "the image has %u x %u pixels, expected at most %d in all", w, h,
                SR_IMAGE_MAX_PIXELS);
    if (pixels / per_byte > (int64_t)n)
        SR_FAIL(SR_ERR_IO, "the header says %u x %u pixels, which %zu bytes cannot hold", w, h, n);
    out->H = (int)h;
    out->W = (int)w;
    return SR_OK;
}

void sr__image_header_upright(const SrImageHeader *header, int *h, int *w) {
    *h = header->orientation > 4 ? header->W : header->H;
    *w = header->orientation > 4 ? header->H : header->W;
}

const char *sr__image_format_name(SrImageFormat format) {
    static const char *const names[SR_IMAGE_FORMATS] = {
        [SR_IMAGE_PNG] = "PNG",    [SR_IMAGE_JPEG] = "JPEG",
        [SR_IMAGE_WEBP] = "WebP",  [SR_IMAGE_PNM] = "PGM or PPM",
        [SR_IMAGE_BMP] = "BMP",    [SR_IMAGE_GIF] = "GIF",
        [SR_IMAGE_TIFF] = "TIFF",  [SR_IMAGE_HEIF] = "HEIC or AVIF",
        [SR_IMAGE_DICOM] = "DICOM"};
    return names[format];
}
