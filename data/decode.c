// Decodes JPEG and PNG to RGB by stb_image.  image_probe.c bounds each file first, and
// stb_image's memory comes from the image pool.  A build with libjpeg-turbo reads JPEG through
// jpeg_turbo.c, and one with libwebp reads WebP through webp.c.  Other formats have
// their readers in data/readers/.
//
// stb_image rounds chroma upsampling and the inverse DCT differently from libjpeg: by 0.01 to 0.13
// grey levels in the mean and 10 at most.  PNG is exact.  Alpha, colour keys and gamma are dropped,
// as PIL's convert("RGB") drops them.  The orientation of EXIF is obeyed, as PIL's exif_transpose
// does.
#include "data/decode.h"

#include <limits.h>
#include <string.h>

#include "base/compiler.h"
#include "data/image_form.h"
#include "data/image_pool.h"
#include "data/image_probe.h"
#include "data/jpeg_turbo.h"
#include "data/readers/bmp.h"
#include "data/readers/dicom.h"
#include "data/readers/exif.h"
#include "data/readers/gif.h"
#include "data/readers/heif.h"
#include "data/readers/pnm.h"
#include "data/readers/tiff.h"
#include "data/sandbox.h"
#include "data/webp.h"
#include "gen/build.h"

// Heap of stb_image while one image is decoded.  Nothing is freed singly: the pool is rewound
// afterwards.
static _Thread_local struct {
    SrImagePool *pool;
    size_t left;          // bytes that it may still take, by the size in the file's header
    bool short_of_memory; // the pool had no room for an allowed request
} heap;

// Memory is zeroed: blocks that a damaged scan skips must not hold old pixels.
static void *heap_take(size_t bytes) {
    if (bytes > heap.left)
        return NULL;
    heap.left -= bytes;
    void *p = sr_image_pool_take(heap.pool, bytes);
    heap.short_of_memory |= !p;
    if (p)
        memset(p, 0, bytes);
    return p;
}

static void *heap_grow(void *old, size_t old_bytes, size_t bytes) {
    void *p = heap_take(bytes);
    if (p && old)
        memcpy(p, old, SR_MIN(old_bytes, bytes));
    return p;
}

#define STBI_MALLOC(bytes) heap_take(bytes)
#define STBI_REALLOC_SIZED(p, old_bytes, bytes) heap_grow(p, old_bytes, bytes)
#define STBI_FREE(p) ((void)(p))
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_MAX_DIMENSIONS 65500
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function" // the library has more than JPEG and PNG need
#include <stb/stb_image.h>

// Most bytes that stb_image needs for an image.  JPEG: planes and coefficients padded to 32 x 32
// MCUs, four components, and the result.  PNG: 16-bit RGBA twice (filtered and not), the 8-bit
// copy, the result, and the compressed bytes, gathered by doubling.
static size_t heap_bound(const SrImageHeader *probe, size_t n) {
    size_t h = (size_t)(probe->H + 31) / 32 * 32, w = (size_t)(probe->W + 31) / 32 * 32;
    return 32 * h * w + 4 * n + ((size_t)1 << 20);
}

// A palette that is shorter than the indices would leave the decoder's table unset.  The missing
// entries become black.
static SrStatus extend_palette(const SrImageHeader *probe, const uint8_t **bytes, size_t *n,
                               SrImagePool *pool) {
    size_t before = probe->plte + 8, add = 768 - (size_t)probe->plte_bytes;
    size_t keep = before + (size_t)probe->plte_bytes;
    uint8_t *longer = sr_image_pool_take(pool, *n + add);
    SR_TRY_MEMORY(longer, "a PNG of %zu bytes", *n);
    memcpy(longer, *bytes, keep);
    memset(longer + keep, 0, add);
    memcpy(longer + keep + add, *bytes + keep, *n - keep);
    longer[probe->plte + 2] = 3; // big-endian 768
    longer[probe->plte + 3] = 0;
    *bytes = longer;
    *n += add;
    return SR_OK;
}

// The decoder took the memory of the pixels last: they move down over its working memory.
static SrStatus keep_result(SrImagePool *pool, size_t mark, int h, int w, const uint8_t *rgb,
                            SrImage *out) {
    sr_image_pool_rewind(pool, mark);
    SR_TRY(sr_image_new(pool, h, w, out));
    memmove(out->rgb, rgb, (size_t)h * (size_t)w * 3);
    return SR_OK;
}

static void heap_begin(const SrImageHeader *probe, size_t n, SrImagePool *pool) {
    heap.pool = pool;
    heap.left = heap_bound(probe, n);
    heap.short_of_memory = false;
}

// good: pixels of the right size came out.  read: pixels came out.
static SrStatus heap_end(const SrImageHeader *probe, bool good, bool read) {
    heap.pool = NULL;
    if (good)
        return SR_OK;
    if (heap.short_of_memory)
        return sr_out_of_memory("an image of %d x %d", probe->W, probe->H);
    SR_FAIL(SR_ERR_IO, "damaged %s (%s)", probe->format == SR_IMAGE_JPEG ? "JPEG" : "PNG",
            read ? "size" : stbi_failure_reason());
}

static SrStatus stb_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                           SrImagePool *pool, SrImage *out) {
    size_t mark = sr_image_pool_mark(pool);
    if (probe->plte && probe->plte_bytes < 768)
        SR_TRY(extend_palette(probe, &bytes, &n, pool));
    int w = 0, h = 0, channels = 0;
    heap_begin(probe, n, pool);
    uint8_t *rgb = stbi_load_from_memory(bytes, (int)n, &w, &h, &channels, 3);
    SrStatus status = heap_end(probe, rgb && h == probe->H && w == probe->W, rgb != NULL);
    if (status != SR_OK) {
        sr_image_pool_rewind(pool, mark);
        return status;
    }
    return keep_result(pool, mark, h, w, rgb, out);
}

// Decodes a PNG with all bits of its samples.  stb_image gives 8-bit samples as 257 times their
// level, so that both depths are divided by 65535.
static SrStatus png_decode_floats(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                                  int channels, SrImagePool *pool, SrImage *out) {
    SrImage image;
    SR_TRY(sr_image_new_floats(pool, probe->H, probe->W, channels, &image));
    size_t mark = sr_image_pool_mark(pool), pixels = (size_t)probe->H * (size_t)probe->W;
    if (probe->plte && probe->plte_bytes < 768)
        SR_TRY(extend_palette(probe, &bytes, &n, pool));
    int w = 0, h = 0, have = 0;
    heap_begin(probe, n, pool);
    const uint16_t *levels = stbi_load_16_from_memory(bytes, (int)n, &w, &h, &have, 0);
    SR_TRY(heap_end(probe, levels && h == probe->H && w == probe->W, levels != NULL));
    SrPixelChannels of = {have, have == 2 || have == 4};
    SR_TRY(sr__channels_check(of, channels));
    float *row = sr_image_pool_take(pool, (size_t)(w * have) * sizeof *row);
    SR_TRY_MEMORY(row, "an image of %d x %d", w, h);
    for (size_t at = 0; at < pixels; at += (size_t)w) {
        for (int i = 0; i < w * have; i++)
            row[i] = (float)levels[at * (size_t)have + (size_t)i] / 65535.0f;
        sr__channels_fit(row, of, (size_t)w, channels, image.f + at * (size_t)channels);
    }
    sr_image_pool_rewind(pool, mark);
    *out = image;
    return SR_OK;
}

const char *sr_image_decoder_name(void) { return SR_TURBOJPEG ? "libjpeg-turbo" : "stb_image"; }

const char *sr_image_webp_name(void) { return SR_WEBP ? "libwebp" : "nothing"; }

const char *sr_image_tiff_name(void) { return SR_TIFF ? "libtiff" : "nothing"; }

const char *sr_image_heif_name(void) { return SR_HEIF ? "libheif" : "nothing"; }

SrStatus sr_image_open(const void *bytes, size_t n, SrImage *out) {
    SrImageHeader probe;
    SR_TRY(sr__image_header_read(bytes, n, &probe));
    if (n > INT_MAX / 2)
        SR_FAIL(SR_ERR_IO, "the image file has %zu bytes, which is too large", n);
    *out = (SrImage){.encoded = bytes, .encoded_bytes = n};
    sr__image_header_upright(&probe, &out->H, &out->W);
    return SR_OK;
}

static SrStatus decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n, int reduce,
                       SrImagePool *pool, SrImage *out) {
    switch (probe->format) {
    case SR_IMAGE_PNM: return sr__pnm_decode(probe, bytes, n, pool, out);
    case SR_IMAGE_BMP: return sr__bmp_decode(probe, bytes, n, pool, out);
    case SR_IMAGE_GIF: return sr__gif_decode(probe, bytes, n, pool, out);
    case SR_IMAGE_DICOM: return sr__dicom_decode(probe, bytes, n, sr_image_decode, pool, out);
#if SR_WEBP
    case SR_IMAGE_WEBP: return sr__webp_decode(probe, bytes, n, pool, out);
#endif
#if SR_TIFF
    case SR_IMAGE_TIFF: return sr__tiff_decode(probe, bytes, n, pool, out);
#endif
#if SR_HEIF
    case SR_IMAGE_HEIF: return sr__heif_decode(probe, bytes, n, pool, out);
#endif
#if SR_TURBOJPEG
    case SR_IMAGE_JPEG: return sr__jpeg_turbo_decode(probe, bytes, n, reduce, pool, out);
#endif
    default: (void)reduce; return stb_decode(probe, bytes, n, pool, out);
    }
}

// Formats whose samples have 8 bits are decoded to RGB first.
static SrStatus decode_floats(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                              int channels, SrImagePool *pool, SrImage *out) {
    if (probe->format == SR_IMAGE_PNG)
        return png_decode_floats(probe, bytes, n, channels, pool, out);
    if (probe->format == SR_IMAGE_DICOM)
        return sr__dicom_decode_floats(probe, bytes, n, sr_image_decode, channels, pool, out);
    if (probe->format == SR_IMAGE_PNM)
        return sr__pnm_decode_floats(probe, bytes, n, channels, pool, out);
#if SR_TIFF
    if (probe->format == SR_IMAGE_TIFF)
        return sr__tiff_decode_floats(probe, bytes, n, channels, pool, out);
#endif
    SR_TRY(decode(probe, bytes, n, 1, pool, out));
    return sr_image_to_floats(out, channels, pool);
}

// The header is read again rather than kept: the walk takes a hundredth of the decoding time.
static SrStatus finish(SrImage *image, int reduce, SrImagePool *pool) {
    const void *bytes = image->encoded;
    size_t n = image->encoded_bytes;
    int channels = image->channels;
    SrImageHeader probe;
    SR_TRY(sr__image_header_read(bytes, n, &probe));
    if (channels > 0)
        SR_TRY(decode_floats(&probe, bytes, n, channels, pool, image));
    else
        SR_TRY(decode(&probe, bytes, n, reduce, pool, image));
    return sr__exif_turn(image, probe.orientation, pool);
}

SrStatus sr_image_finish(SrImage *image, int reduce, SrImagePool *pool) {
    if (!image->encoded)
        return SR_OK;
    return sr_sandbox_used() ? sr__sandbox_decode(finish, image, reduce, pool)
                             : finish(image, reduce, pool);
}

SrStatus sr_image_decode(const void *bytes, size_t n, SrImagePool *pool, SrImage *out) {
    SR_TRY(sr_image_open(bytes, n, out));
    return sr_image_finish(out, 1, pool);
}
