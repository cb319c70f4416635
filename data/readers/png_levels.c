// Reads grey and indexed PNG files without a conversion of their numbers (PNG specification, third
// edition, W3C 2003: chunks in section 5, filters in section 9).
#include "data/readers/png_levels.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/compiler.h"
#include "data/image_pool.h"
#include "data/readers/byte_order.h"

enum { GREY = 0, PALETTE = 3, HEADER = 13, CHUNK = 12, MOST_SIDE = 65500 };

typedef struct {
    int h, w, depth;
    size_t row;      // bytes of a row, without the byte of its filter
    uint8_t *packed; // (packed_bytes) compressed rows
    size_t packed_bytes;
} Png;

static SrStatus read_header(const uint8_t *p, Png *png) {
    uint32_t w = sr_be32(p), h = sr_be32(p + 4);
    if (p[9] != GREY && p[9] != PALETTE)
        SR_FAIL(SR_ERR_IO,
                "the PNG has several channels; a mask has one, grey levels or a palette, "
                "whose numbers are classes");
    if (p[8] > 8)
        SR_FAIL(SR_ERR_IO, "the PNG has 16 bits per pixel; a mask has at most 8");
    if (p[12] != 0)
        SR_FAIL(SR_ERR_IO, "the PNG is interlaced; write it without");
    if (w < 1 || h < 1 || w > MOST_SIDE || h > MOST_SIDE || (int64_t)w * h > SR_IMAGE_MAX_PIXELS ||
        (p[8] != 1 && p[8] != 2 && p[8] != 4 && p[8] != 8))
        SR_FAIL(SR_ERR_IO, "the header of the PNG is damaged");
    *png = (Png){.h = (int)h, .w = (int)w, .depth = p[8]};
    png->row = ((size_t)w * p[8] + 7) / 8;
    return SR_OK;
}

// Finds the header and joins the chunks of pixels.  The end of the file ends the list, too.
static SrStatus read_chunks(const uint8_t *p, size_t n, SrImagePool *pool, Png *png) {
    static const uint8_t magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (n < 8 + CHUNK + HEADER || memcmp(p, magic, 8) != 0 || memcmp(p + 12, "IHDR", 4) != 0)
        SR_FAIL(SR_ERR_IO, "the file is no PNG");
    SR_TRY(read_header(p + 16, png));
    png->packed = sr_image_pool_take(pool, n);
    SR_TRY_MEMORY(png->packed, "a PNG");
    for (size_t at = 8; n - at >= CHUNK;) {
        size_t bytes = sr_be32(p + at);
        if (bytes > n - at - CHUNK)
            SR_FAIL(SR_ERR_IO, "the PNG is truncated");
        if (memcmp(p + at + 4, "IDAT", 4) == 0) {
            memcpy(png->packed + png->packed_bytes, p + at + 8, bytes);
            png->packed_bytes += bytes;
        }
        at += bytes + CHUNK;
    }
    return SR_OK;
}

static int paeth(int a, int b, int c) {
    int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

// Undoes the filter of a row in place.  above: the row before it, or zeros.
static bool unfilter(int filter, uint8_t *row, const uint8_t *above, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int a = i ? row[i - 1] : 0, b = above[i], c = i ? above[i - 1] : 0;
        int add = filter == 0   ? 0
                  : filter == 1 ? a
                  : filter == 2 ? b
                  : filter == 3 ? (a + b) / 2
                                : paeth(a, b, c);
        row[i] = (uint8_t)(row[i] + add);
    }
    return filter >= 0 && filter <= 4;
}

static void unpack(const Png *png, const uint8_t *row, uint8_t *out) {
    int per_byte = 8 / png->depth, mask = (1 << png->depth) - 1;
    for (int x = 0; x < png->w; x++) {
        int shift = 8 - png->depth * (x % per_byte + 1);
        out[x] = (uint8_t)(row[x / per_byte] >> shift & mask);
    }
}

SrStatus sr_png_levels(const void *bytes, size_t n, SrImagePool *pool, int *h, int *w,
                       uint8_t **levels) {
    Png png = {.h = 0};
    SR_TRY(read_chunks(bytes, n, pool, &png));
    size_t line = png.row + 1, size = line * (size_t)png.h;
    uint8_t *rows = sr_image_pool_take(pool, size), *zeros = sr_image_pool_take(pool, line);
    *levels = sr_image_pool_take(pool, (size_t)png.h * (size_t)png.w);
    if (!rows || !zeros || !*levels)
        return sr_out_of_memory("a PNG");
    uLongf got = (uLongf)size;
    int code = uncompress(rows, &got, png.packed, (uLong)png.packed_bytes);
    if (code == Z_MEM_ERROR)
        return sr_out_of_memory("a PNG");
    if (code != Z_OK || got != size)
        SR_FAIL(SR_ERR_IO, "the pixels of the PNG are damaged");
    memset(zeros, 0, line);
    for (int y = 0; y < png.h; y++) {
        uint8_t *row = rows + (size_t)y * line;
        const uint8_t *above = y ? row - line + 1 : zeros;
        if (!unfilter(row[0], row + 1, above, png.row))
            SR_FAIL(SR_ERR_IO, "the pixels of the PNG are damaged");
        unpack(&png, row + 1, *levels + (size_t)y * (size_t)png.w);
    }
    *h = png.h;
    *w = png.w;
    return SR_OK;
}
