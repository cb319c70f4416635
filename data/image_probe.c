// Walks over the markers of a JPEG (ITU T.81 annex B) or the chunks of a PNG (RFC 2083) or WebP
// (RFC 9649) before it is decoded.  Other formats have their own files in data/readers/.
//
// This file validates no format in full.  It checks what bounds time and memory, and the few things
// that stb_image takes on trust.
#include "data/image_probe.h"

#include <string.h>
#include <zlib.h>

#include "data/readers/bmp.h"
#include "data/readers/byte_order.h"
#include "data/readers/dicom.h"
#include "data/readers/exif.h"
#include "data/readers/gif.h"
#include "data/readers/heif.h"
#include "data/readers/pnm.h"
#include "data/readers/tiff.h"
#include "gen/build.h"

#define MAX_SCANS 256 // each costs a pass over all coefficients, however few bytes it has

// ---- JPEG ----

typedef struct {
    const uint8_t *p, *end;
    size_t n;
    int components;
    bool adobe;
    int scans;
} Jpeg;

// SOF: precision, height, width, number of components, three bytes for each.
static SrStatus jpeg_frame(Jpeg *j, const uint8_t *body, size_t len, SrImageHeader *out) {
    if (j->components)
        SR_FAIL(SR_ERR_IO, "the JPEG has two frames");
    if (len < 6 || len != 6 + 3 * (size_t)body[5])
        SR_FAIL(SR_ERR_IO, "the JPEG's frame header has a wrong length");
    if (body[0] != 8)
        SR_FAIL(SR_ERR_IO, "the JPEG has %d bits per sample, only 8 are supported", body[0]);
    j->components = body[5];
    // At least one bit a block of 64 samples, and each component's first scan passes all its
    // blocks; the largest MCU covers 32 x 32 pixels with one block of the coarsest component.
    return sr__image_check_size(out, sr_be16(body + 1), sr_be16(body + 3), j->n, 8 * 1024);
}

// Checks Huffman tables: counts of codes of length 1 .. 16, then as many symbols.  A table of more
// than 256 codes would overrun the decoder.
static SrStatus jpeg_huffman(const uint8_t *body, size_t len) {
    while (len >= 17) {
        size_t codes = 0;
        for (int i = 1; i <= 16; i++)
            codes += body[i];
        if (codes > 256 || 17 + codes > len)
            SR_FAIL(SR_ERR_IO, "a Huffman table of the JPEG has %zu codes, which is too many",
                    codes);
        body += 17 + codes;
        len -= 17 + codes;
    }
    if (len)
        SR_FAIL(SR_ERR_IO, "a Huffman table of the JPEG is cut off");
    return SR_OK;
}

// Reads the markers that matter before decoding and leaves all others to the decoder.
static SrStatus jpeg_segment(Jpeg *j, int marker, const uint8_t *body, size_t len,
                             SrImageHeader *out) {
    if (marker == 0xC4)
        return jpeg_huffman(body, len);
    if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC8 && marker != 0xCC) {
        if (marker > 0xC2)
            SR_FAIL(SR_ERR_IO,
                    "the JPEG is of kind SOF%d (lossless or arithmetic), which is not supported",
                    marker - 0xC0);
        return jpeg_frame(j, body, len, out);
    }
    if (marker == 0xE1 && len >= 6 && memcmp(body, "Exif\0\0", 6) == 0 && out->orientation == 1)
        out->orientation = sr__exif_orientation(body, len);
    if (marker == 0xEE && len >= 12 && memcmp(body, "Adobe", 5) == 0)
        j->adobe = true;
    if (marker == 0xDA && ++j->scans > MAX_SCANS)
        SR_FAIL(SR_ERR_IO, "the JPEG has more than %d scans", MAX_SCANS);
    if (marker == 0xDA && !j->components)
        SR_FAIL(SR_ERR_IO, "a scan of the JPEG comes before its frame");
    return SR_OK;
}

// Moves to the next 0xFF byte that starts a marker (not stuffing, not a restart) and returns it, -1
// at the end.
static int jpeg_next_marker(Jpeg *j) {
    while (j->end - j->p >= 2) {
        const uint8_t *ff = memchr(j->p, 0xFF, (size_t)(j->end - j->p));
        if (!ff || j->end - ff < 2)
            break;
        j->p = ff + 1;
        int marker = ff[1];
        bool bare = marker <= 1 || (marker >= 0xD0 && marker <= 0xD7); // stuffing, TEM, restarts
        if (marker == 0xFF || bare)
            continue;
        j->p = ff + 2;
        return marker;
    }
    return -1;
}

// Walks to the end of the image, past entropy-coded data too, so that every scan is counted.
static SrStatus probe_jpeg(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    Jpeg j = {.p = bytes + 2, .end = bytes + n, .n = n};
    int marker;
    while ((marker = jpeg_next_marker(&j)) >= 0 && marker != 0xD9) {
        size_t left = (size_t)(j.end - j.p);
        if (left < 2 || sr_be16(j.p) < 2 || sr_be16(j.p) > left)
            SR_FAIL(SR_ERR_IO, "the JPEG is cut off after %zu bytes", n);
        size_t len = sr_be16(j.p);
        SR_TRY(jpeg_segment(&j, marker, j.p + 2, len - 2, out));
        j.p += len;
    }
    if (!j.scans)
        SR_FAIL(SR_ERR_IO, "the JPEG has no image data");
    if (marker != 0xD9) // both decoders would fill the rest with grey
        SR_FAIL(SR_ERR_IO, "the JPEG is cut off after %zu bytes", n);
    if (j.components == 4 && !j.adobe)
        SR_FAIL(SR_ERR_IO,
                "the JPEG has four components and no Adobe marker, so their meaning is unknown");
    out->format = SR_IMAGE_JPEG;
    out->components = j.components;
    return SR_OK;
}

// ---- PNG ----

// Checksums of the two chunks whose damage would decode to nonsense; image data has its own
// (Adler-32).
static SrStatus png_chunk(const uint8_t *chunk, uint32_t len, size_t offset, SrImageHeader *out) {
    bool palette = memcmp(chunk + 4, "PLTE", 4) == 0;
    bool header = memcmp(chunk + 4, "IHDR", 4) == 0;
    if ((header || palette) && crc32(0, chunk + 4, len + 4) != sr_be32(chunk + 8 + len))
        SR_FAIL(SR_ERR_IO, "the PNG has a damaged %.4s chunk", (const char *)chunk + 4);
    if (palette && (len % 3 || len > 768))
        SR_FAIL(SR_ERR_IO, "the PNG's palette has %u bytes, which is not a valid size", len);
    if (memcmp(chunk + 4, "eXIf", 4) == 0)
        out->orientation = sr__exif_orientation(chunk + 8, len);
    if (palette && !out->plte) {
        out->plte = offset;
        out->plte_bytes = (int)len;
    }
    return SR_OK;
}

static SrStatus probe_png(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    if (n < 33 || sr_be32(bytes + 8) != 13 || memcmp(bytes + 12, "IHDR", 4) != 0)
        SR_FAIL(SR_ERR_IO, "the PNG has no header");
    // Deflate expands at most 1032 times, and a pixel takes at least one bit.
    SR_TRY(sr__image_check_size(out, sr_be32(bytes + 20), sr_be32(bytes + 16), n, 1032 * 8));
    out->components = bytes[25] == 0 || bytes[25] == 4 ? 1 : 3;
    out->samples = out->components;
    out->bits = bytes[24];
    for (size_t at = 8; at + 12 <= n;) {
        uint32_t len = sr_be32(bytes + at);
        if (len > n - at - 12)
            SR_FAIL(SR_ERR_IO, "the PNG is cut off after %zu bytes", n);
        SR_TRY(png_chunk(bytes + at, len, at, out));
        if (memcmp(bytes + at + 4, "IEND", 4) == 0)
            return SR_OK;
        at += 12 + (size_t)len;
    }
    SR_FAIL(SR_ERR_IO, "the PNG is cut off after %zu bytes", n);
}

// ---- WebP (RFC 9649) ----

// Finds the chunk EXIF of an extended WebP, which follows the image.
static void webp_orientation(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    for (size_t at = 12; at + 8 <= n;) {
        size_t len = sr_le32(bytes + at + 4);
        if (len > n - at - 8)
            return;
        if (memcmp(bytes + at, "EXIF", 4) == 0)
            out->orientation = sr__exif_orientation(bytes + at + 8, len);
        at += 8 + len + len % 2;
    }
}

// Reads the size of the canvas (VP8X) or of the only frame.  A WebP of a single colour needs no
// bits per pixel, so no file is too short for its size.
static SrStatus probe_webp(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    const uint8_t *body = bytes + 20;
    const int64_t any = INT64_MAX;
    out->format = SR_IMAGE_WEBP;
    if (n < 30)
        SR_FAIL(SR_ERR_IO, "the WebP is cut off after %zu bytes", n);
    if (memcmp(bytes + 12, "VP8X", 4) == 0) {
        if (body[0] & 2)
            SR_FAIL(SR_ERR_IO, "the file is an animated WebP, which is not supported");
        webp_orientation(bytes, n, out);
        return sr__image_check_size(out, sr_le24(body + 7) + 1, sr_le24(body + 4) + 1, n, any);
    }
    if (memcmp(bytes + 12, "VP8L", 4) == 0) {
        uint32_t bits = sr_le32(body + 1);
        return sr__image_check_size(out, (bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1, n, any);
    }
    if (memcmp(bytes + 12, "VP8 ", 4) == 0)
        return sr__image_check_size(out, sr_le16(body + 8) & 0x3FFF, sr_le16(body + 6) & 0x3FFF, n,
                                    any);
    SR_FAIL(SR_ERR_IO, "the WebP has no image");
}

// ---- all ----

static bool at(const uint8_t *bytes, size_t n, size_t offset, const char *magic, size_t len) {
    return n >= offset + len && memcmp(bytes + offset, magic, len) == 0;
}

static bool is_heif(const uint8_t *bytes, size_t n) {
    static const char *const brands[] = {"heic", "heix", "hevc", "heim", "heis", "hevm",
                                         "hevs", "mif1", "msf1", "avif", "avis"};
    for (size_t i = 0; at(bytes, n, 4, "ftyp", 4) && i < sizeof brands / sizeof *brands; i++)
        if (at(bytes, n, 8, brands[i], 4))
            return true;
    return false;
}

static bool is_tiff(const uint8_t *bytes, size_t n) {
    return at(bytes, n, 0, "II*\0", 4) || at(bytes, n, 0, "MM\0*", 4) ||
           at(bytes, n, 0, "II+\0", 4) || at(bytes, n, 0, "MM\0+", 4);
}

// Names what the file is instead.
static SrStatus refuse(const uint8_t *bytes, size_t n) {
    if (at(bytes, n, 0, "%PDF", 4))
        SR_FAIL(SR_ERR_IO, "the file is a PDF file, which is not supported; convert it to JPEG or "
                           "PNG");
    SR_FAIL(SR_ERR_IO, n ? "the file is no image that this program knows: JPEG, PNG, WebP, TIFF, "
                           "HEIC, AVIF, GIF, BMP, PGM, PPM or DICOM"
                         : "the file is empty");
}

static SrStatus refuse_unbuilt(const char *format, const char *package) {
    SR_FAIL(SR_ERR_IO,
            "the file is %s, which needs a build with %s installed; build again, or "
            "convert the file",
            format, package);
}

// The content decides, never the name's ending: many .jpg files are PNG.
static SrStatus probe(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    if (n >= 4 && bytes[0] == 0xFF && bytes[1] == 0xD8)
        return probe_jpeg(bytes, n, out);
    if (at(bytes, n, 0, "\x89PNG\r\n\x1A\n", 8))
        return probe_png(bytes, n, out);
    if (at(bytes, n, 0, "RIFF", 4) && at(bytes, n, 8, "WEBP", 4))
        return SR_WEBP ? probe_webp(bytes, n, out) : refuse_unbuilt("a WebP", "libwebp-dev");
    if (at(bytes, n, 0, "P5", 2) || at(bytes, n, 0, "P6", 2))
        return sr__pnm_probe(bytes, n, out);
    if (at(bytes, n, 0, "BM", 2))
        return sr__bmp_probe(bytes, n, out);
    if (at(bytes, n, 0, "GIF8", 4))
        return sr__gif_probe(bytes, n, out);
#if SR_TIFF
    if (is_tiff(bytes, n) && !sr__dicom_is(bytes, n)) // a DICOM may begin as a TIFF does
        return sr__tiff_probe(bytes, n, out);
#endif
#if SR_HEIF
    if (is_heif(bytes, n))
        return sr__heif_probe(bytes, n, out);
#endif
    if (sr__dicom_is(bytes, n))
        return sr__dicom_probe(bytes, n, out);
    if (is_tiff(bytes, n))
        return refuse_unbuilt("a TIFF", "libtiff-dev");
    if (is_heif(bytes, n))
        return refuse_unbuilt("a HEIC or AVIF", "libheif-dev");
    return refuse(bytes, n);
}

SrStatus sr__image_header_read(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    *out = (SrImageHeader){.format = SR_IMAGE_PNG, .orientation = 1};
    return probe(bytes, n, out);
}
