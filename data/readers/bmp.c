// Reads bitmaps that are not compressed.  Every offset is checked against the file's length.
#include "data/readers/bmp.h"

#include <string.h>

#include "data/image_pool.h"
#include "data/readers/byte_order.h"

typedef struct {
    size_t pixels;    // offset of the first row in the file
    size_t row;       // bytes of a row, a multiple of 4
    size_t palette;   // offset of the palette
    uint32_t colors;  // number of its colours
    int entry;        // bytes of each: 3 in files of OS/2, else 4
    int bits;         // per pixel
    bool down;        // rows from the top
    uint32_t mask[3]; // of red, green and blue in 16 and 32 bits
} Bmp;

// Reads what is known of colours: the masks of 16 and 32 bits, or the length of the palette.
static SrStatus read_colors(const uint8_t *bytes, size_t n, uint32_t header, Bmp *b) {
    uint32_t compression = header >= 40 ? sr_le32(bytes + 30) : 0;
    const uint32_t five[3] = {0x7C00, 0x3E0, 0x1F}, eight[3] = {0xFF0000, 0xFF00, 0xFF};
    bool masks = compression == 3 || compression == 6;
    if (compression != 0 && !(masks && (b->bits == 16 || b->bits == 32)))
        SR_FAIL(SR_ERR_IO,
                "the BMP is compressed (kind %u), which is not supported; convert it to "
                "PNG",
                compression);
    memcpy(b->mask, b->bits == 16 ? five : eight, sizeof b->mask);
    for (int c = 0; c < 3 && masks; c++) { // they follow the first 40 bytes of every header
        if (n < 14 + 40 + 12)
            SR_FAIL(SR_ERR_IO, "the BMP is cut off after %zu bytes", n);
        b->mask[c] = sr_le32(bytes + 54 + 4 * c);
    }
    b->entry = header == 12 ? 3 : 4;
    b->palette = 14 + (size_t)header;
    b->colors = b->bits <= 8 ? 1u << b->bits : 0;
    if (b->colors && header >= 40 && sr_le32(bytes + 46) > 0 && sr_le32(bytes + 46) < b->colors)
        b->colors = sr_le32(bytes + 46);
    return SR_OK;
}

static SrStatus read_header(const uint8_t *bytes, size_t n, SrImageHeader *out, Bmp *b) {
    uint32_t header = n >= 18 ? sr_le32(bytes + 14) : 0;
    *b = (Bmp){.bits = 0};
    if ((header != 12 && (header < 40 || header > 1024)) || n < 14 + (size_t)header)
        SR_FAIL(SR_ERR_IO, "the BMP's header is damaged or cut off");
    uint32_t w = header == 12 ? sr_le16(bytes + 18) : sr_le32(bytes + 18);
    uint32_t h = header == 12 ? sr_le16(bytes + 20) : sr_le32(bytes + 22);
    b->bits = (int)sr_le16(bytes + (header == 12 ? 24 : 28));
    b->down = header != 12 && h > INT32_MAX; // a negative height
    h = b->down ? 0u - h : h;
    b->pixels = sr_le32(bytes + 10);
    if (b->bits != 1 && b->bits != 4 && b->bits != 8 && b->bits != 16 && b->bits != 24 &&
        b->bits != 32)
        SR_FAIL(SR_ERR_IO, "the BMP has %d bits per pixel, expected 1, 4, 8, 16, 24 or 32",
                b->bits);
    SR_TRY(read_colors(bytes, n, header, b));
    SR_TRY(sr__image_check_size(out, h, w, n, 8));
    b->row = ((size_t)w * (size_t)b->bits + 31) / 32 * 4;
    if (b->pixels > n || (n - b->pixels) / b->row < h)
        SR_FAIL(SR_ERR_IO, "the BMP is cut off after %zu bytes", n);
    if (b->palette + (size_t)b->colors * (size_t)b->entry > n)
        SR_FAIL(SR_ERR_IO, "the BMP's palette is cut off");
    out->format = SR_IMAGE_BMP;
    out->components = 3;
    return SR_OK;
}

SrStatus sr__bmp_probe(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    Bmp b;
    return read_header(bytes, n, out, &b);
}

// Takes the bits of a mask and widens them to 8 bits, so that all ones are 255.
static uint8_t channel(uint32_t pixel, uint32_t mask) {
    if (!mask)
        return 0;
    int shift = 0;
    while (!(mask >> shift & 1))
        shift++;
    uint64_t top = mask >> shift, v = (pixel & mask) >> shift;
    return (uint8_t)(v * 255 / top);
}

static void take_pixel(const Bmp *b, const uint8_t *file, const uint8_t *row, int x, uint8_t *rgb) {
    uint32_t pixel = 0;
    if (b->bits == 24) {
        for (int c = 0; c < 3; c++)
            rgb[c] = row[3 * x + 2 - c];
        return;
    }
    if (b->bits > 8) {
        pixel = b->bits == 16 ? sr_le16(row + 2 * x) : sr_le32(row + 4 * x);
        for (int c = 0; c < 3; c++)
            rgb[c] = channel(pixel, b->mask[c]);
        return;
    }
    int at = x * b->bits;
    pixel = (uint32_t)row[at / 8] >> (8 - b->bits - at % 8) & ((1u << b->bits) - 1);
    const uint8_t *color = file + b->palette + (size_t)pixel * (size_t)b->entry;
    for (int c = 0; c < 3; c++)
        rgb[c] = pixel < b->colors ? color[2 - c] : 0;
}

SrStatus sr__bmp_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                        SrImagePool *pool, SrImage *out) {
    SrImageHeader header = *probe;
    Bmp b;
    SR_TRY(read_header(bytes, n, &header, &b));
    SR_TRY(sr_image_new(pool, header.H, header.W, out));
    for (int y = 0; y < header.H; y++) {
        const uint8_t *row = bytes + b.pixels + b.row * (size_t)(b.down ? y : header.H - 1 - y);
        uint8_t *to = out->rgb + (size_t)y * (size_t)header.W * 3;
        for (int x = 0; x < header.W; x++)
            take_pixel(&b, bytes, row, x, to + 3 * (size_t)x);
    }
    return SR_OK;
}
