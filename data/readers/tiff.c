// Decodes TIFF by libtiff, which also inflates what its strips and tiles hold.
//
// The build includes this file if it finds the library's header; `make TIFF=no` leaves it out.
// Samples of 8 and 16 bits in grey, RGB and palettes are converted here, exactly, and so are any
// number of channels, also of 32-bit floats, for images of floats.  All other kinds
// (1 to 4 bits, CMYK, YCbCr, Lab) pass through the library's RGBA interface.  The library allocates
// its working memory itself, bounded by MAX_LIBRARY_BYTES per piece.
#include "data/readers/tiff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

#include "base/compiler.h"
#include "base/text/number.h"
#include "data/image_form.h"
#include "data/image_pool.h"

enum { MAX_RGB_CHANNELS = 16, MAX_LIBRARY_BYTES = 256 << 20, MAX_PIECE_BYTES = 512 << 20 };

// ---- the file in memory

typedef struct {
    const uint8_t *bytes;
    toff_t n, at;
    char error[200]; // first message of the library
} File;

static tmsize_t file_read(thandle_t handle, void *out, tmsize_t bytes) {
    File *f = handle;
    toff_t left = f->at < f->n ? f->n - f->at : 0;
    tmsize_t got = (toff_t)bytes < left ? bytes : (tmsize_t)left;
    memcpy(out, f->bytes + (left ? f->at : 0), (size_t)got);
    f->at += (toff_t)got;
    return got;
}

static tmsize_t file_write(thandle_t handle, void *bytes, tmsize_t n) {
    (void)handle, (void)bytes, (void)n;
    return -1;
}

static toff_t file_seek(thandle_t handle, toff_t offset, int from) {
    File *f = handle;
    f->at = from == SEEK_SET ? offset : from == SEEK_CUR ? f->at + offset : f->n + offset;
    return f->at;
}

static int file_close(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t file_size(thandle_t handle) { return ((File *)handle)->n; }

// Keeps the first message, which names the cause.
static int keep_error(TIFF *tiff, void *user, const char *module, const char *fmt, va_list args) {
    File *f = user;
    (void)tiff, (void)module;
    if (!f->error[0])
        sr_number_vprint(f->error, sizeof f->error, fmt, args);
    return 1;
}

static int drop_warning(TIFF *tiff, void *user, const char *module, const char *fmt, va_list args) {
    (void)tiff, (void)user, (void)module, (void)fmt, (void)args;
    return 1;
}

// Clears errno, which then tells a failed allocation of the library from a damaged file.
static TIFF *open_file(File *f) {
    errno = 0;
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, MAX_LIBRARY_BYTES);
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, f);
    TIFFOpenOptionsSetWarningHandlerExtR(options, drop_warning, f);
    // "m": the file is not mapped, since it is in memory.
    TIFF *tiff = TIFFClientOpenExt("image", "rm", f, file_read, file_write, file_seek, file_close,
                                   file_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

static SrStatus damaged(const File *f) {
    if (errno == ENOMEM)
        return sr_out_of_memory("a TIFF");
    SR_FAIL(SR_ERR_IO, "damaged TIFF (%s)", f->error[0] ? f->error : "image data");
}

// ---- the header

typedef struct {
    uint32_t w, h;
    uint16_t bits, channels, format, meaning, planar, compression, orientation;
    bool alpha; // the last channel is opacity
} Page;

static SrStatus read_page(TIFF *tiff, Page *p) {
    *p = (Page){.w = 0};
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &p->w);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &p->h);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &p->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &p->channels);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &p->format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &p->planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &p->compression);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &p->orientation);
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &p->meaning))
        p->meaning = p->channels >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    uint16_t extra = 0, *kinds = NULL;
    if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extra, &kinds) && extra == 1 && p->channels > 1)
        p->alpha = kinds[0] == EXTRASAMPLE_ASSOCALPHA || kinds[0] == EXTRASAMPLE_UNASSALPHA;
    if (p->channels < 1 || p->channels > SR_MAX_CHANNELS)
        SR_FAIL(SR_ERR_IO, "the TIFF has %d channels, expected 1 to %d", p->channels,
                SR_MAX_CHANNELS);
    return SR_OK;
}

static bool is_float(const Page *p) { return p->format == SAMPLEFORMAT_IEEEFP && p->bits == 32; }

// Refuses what neither RGB (floats false) nor an image of floats can hold.
static SrStatus check_samples(const Page *p, bool floats) {
    bool levels =
        p->bits <= 16 && (p->format == SAMPLEFORMAT_UINT || p->format == SAMPLEFORMAT_VOID);
    if (!levels && !(floats && is_float(p)))
        SR_FAIL(
            SR_ERR_IO,
            "the TIFF has %d-bit %s samples, which are not supported; convert it to 8 or 16 bits",
            p->bits, p->format == SAMPLEFORMAT_IEEEFP ? "float" : "integer");
    if (!floats && p->channels > MAX_RGB_CHANNELS)
        SR_FAIL(SR_ERR_IO,
                "the TIFF has %d channels, expected 1 to %d; DATA.CHANNELS=%d reads all of them",
                p->channels, MAX_RGB_CHANNELS, p->channels);
    return SR_OK;
}

SrStatus sr__tiff_probe(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    File f = {.bytes = bytes, .n = n};
    Page p;
    TIFF *tiff = open_file(&f);
    if (!tiff)
        return damaged(&f);
    SrStatus status = read_page(tiff, &p);
    TIFFClose(tiff);
    SR_TRY(status);
    out->format = SR_IMAGE_TIFF;
    out->components = p.channels < 3 && p.meaning <= PHOTOMETRIC_MINISBLACK ? 1 : 3;
    out->samples = p.meaning == PHOTOMETRIC_PALETTE ? 3 : p.channels - p.alpha;
    out->bits = p.bits;
    out->orientation = p.orientation >= 1 && p.orientation <= 8 ? p.orientation : 1;
    // Group 4 fax packs a blank row into one bit.
    return sr__image_check_size(out, p.h, p.w, n, INT64_MAX);
}

// ---- strips and tiles

// Pieces of the picture, each of one or of all channels.
typedef struct {
    bool tiled;
    uint32_t w, h;          // of a whole piece
    uint32_t across;        // pieces side by side
    size_t bytes;           // of a whole piece
    int channels;           // in a piece
    const uint16_t *map[3]; // palette: (2^bits) levels of red, green and blue; NULL: none
} Pieces;

static SrStatus measure_pieces(TIFF *tiff, const File *f, const Page *p, Pieces *out) {
    uint32_t rows = p->h;
    *out = (Pieces){.tiled = TIFFIsTiled(tiff) != 0, .w = p->w};
    if (out->tiled) {
        TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &out->w);
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &out->h);
    } else {
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows);
        out->h = SR_MIN(rows, p->h);
    }
    out->channels = p->planar == PLANARCONFIG_SEPARATE ? 1 : p->channels;
    if (out->w < 1 || out->h < 1 || out->w > 1 << 16 || out->h > 1 << 16)
        return damaged(f);
    out->across = (p->w + out->w - 1) / out->w;
    tmsize_t bytes = out->tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
    size_t want = (size_t)out->w * out->h * (size_t)out->channels * (p->bits / 8);
    if (bytes <= 0 || (size_t)bytes != want || want > MAX_PIECE_BYTES)
        return damaged(f);
    out->bytes = want;
    if (p->meaning == PHOTOMETRIC_PALETTE) {
        uint16_t *map[3];
        if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
            return damaged(f);
        memcpy(out->map, map, sizeof map);
    }
    return SR_OK;
}

static uint16_t sample_at(const uint8_t *piece, size_t i, int bits) {
    uint16_t v;
    if (bits == 8)
        return piece[i];
    memcpy(&v, piece + 2 * i, 2); // the library has put the bytes in the machine's order
    return v;
}

// Writes the pixels of a piece that lie in the picture.  plane: the channel that it holds; -1: all.
static void put_piece(const Page *p, const Pieces *k, const uint8_t *piece, uint32_t top,
                      uint32_t left, int plane, SrImage *out) {
    uint32_t rows = SR_MIN(k->h, p->h - top), columns = SR_MIN(k->w, p->w - left);
    bool color = p->meaning == PHOTOMETRIC_RGB && p->channels >= 3;
    for (uint32_t y = 0; y < rows; y++)
        for (uint32_t x = 0; x < columns; x++) {
            size_t at = ((size_t)y * k->w + x) * (size_t)k->channels;
            uint8_t *rgb = out->rgb + ((size_t)(top + y) * p->w + left + x) * 3;
            for (int c = 0; c < 3; c++) {
                if (color && plane >= 0 && plane != c)
                    continue;
                uint16_t v = sample_at(piece, at + (size_t)(color && plane < 0 ? c : 0), p->bits);
                if (p->meaning == PHOTOMETRIC_PALETTE)
                    rgb[c] = (uint8_t)(k->map[c][v] >> 8);
                else
                    rgb[c] = (uint8_t)((p->bits == 16 ? v >> 8 : v) ^
                                       (p->meaning == PHOTOMETRIC_MINISWHITE ? 255 : 0));
            }
        }
}

static float float_at(const Page *p, const uint8_t *piece, size_t i) {
    float v, white = p->bits == 8 ? 255.0f : 65535.0f;
    if (is_float(p)) {
        memcpy(&v, piece + 4 * i, 4);
        return isfinite(v) ? v : 0;
    }
    v = (float)sample_at(piece, i, p->bits);
    return (p->meaning == PHOTOMETRIC_MINISWHITE ? white - v : v) / white;
}

// Does the same for an image of floats with all channels of the file.
static void put_floats(const Page *p, const Pieces *k, const uint8_t *piece, uint32_t top,
                       uint32_t left, int plane, SrImage *out) {
    uint32_t rows = SR_MIN(k->h, p->h - top), columns = SR_MIN(k->w, p->w - left);
    size_t from = (size_t)k->channels, to = p->channels;
    for (uint32_t y = 0; y < rows; y++)
        for (uint32_t x = 0; x < columns; x++) {
            size_t at = ((size_t)y * k->w + x) * from;
            float *f = out->f + ((size_t)(top + y) * p->w + left + x) * to + SR_MAX(plane, 0);
            for (size_t c = 0; c < from; c++)
                f[c] = float_at(p, piece, at + c);
        }
}

static SrStatus read_pieces(TIFF *tiff, const File *f, const Page *p, SrImagePool *pool,
                            SrImage *out) {
    Pieces k;
    SR_TRY(measure_pieces(tiff, f, p, &k));
    size_t mark = sr_image_pool_mark(pool);
    uint8_t *piece = sr_image_pool_take(pool, k.bytes);
    SR_TRY_MEMORY(piece, "an image of %u x %u", p->w, p->h);
    bool color = p->meaning == PHOTOMETRIC_RGB && p->channels >= 3;
    int planes = k.channels == p->channels ? 1 : out->f ? p->channels : color ? 3 : 1;
    void (*put)(const Page *, const Pieces *, const uint8_t *, uint32_t, uint32_t, int, SrImage *) =
        out->f ? put_floats : put_piece;
    SrStatus status = SR_OK;
    for (int plane = 0; plane < planes; plane++)
        for (uint32_t top = 0; top < p->h && status == SR_OK; top += k.h)
            for (uint32_t left = 0; left < p->w && status == SR_OK; left += k.w) {
                uint16_t s = (uint16_t)plane;
                memset(piece, 0, k.bytes);
                tmsize_t got =
                    k.tiled ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, left, top, 0, s),
                                                  piece, (tmsize_t)k.bytes)
                            : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, top, s), piece,
                                                   (tmsize_t)k.bytes);
                if (got < 0)
                    status = damaged(f);
                else
                    put(p, &k, piece, top, left, planes > 1 ? plane : -1, out);
            }
    sr_image_pool_rewind(pool, mark);
    return status;
}

// ---- other kinds

static SrStatus read_rgba(TIFF *tiff, const File *f, const Page *p, SrImagePool *pool,
                          SrImage *out) {
    size_t mark = sr_image_pool_mark(pool), pixels = (size_t)p->w * p->h;
    uint32_t *raster = sr_image_pool_take(pool, pixels * sizeof *raster);
    SR_TRY_MEMORY(raster, "an image of %u x %u", p->w, p->h);
    memset(raster, 0, pixels * sizeof *raster);
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT); // the caller turns the picture
    int read = TIFFReadRGBAImageOriented(tiff, p->w, p->h, raster, ORIENTATION_TOPLEFT, 1);
    for (size_t i = 0; read && i < pixels; i++) {
        out->rgb[3 * i] = TIFFGetR(raster[i]);
        out->rgb[3 * i + 1] = TIFFGetG(raster[i]);
        out->rgb[3 * i + 2] = TIFFGetB(raster[i]);
    }
    sr_image_pool_rewind(pool, mark);
    return read ? SR_OK : damaged(f);
}

static bool is_exact(const Page *p) {
    bool depth = p->bits == 8 || p->bits == 16;
    return depth && (p->meaning == PHOTOMETRIC_MINISBLACK || p->meaning == PHOTOMETRIC_MINISWHITE ||
                     (p->meaning == PHOTOMETRIC_RGB && p->channels >= 3) ||
                     (p->meaning == PHOTOMETRIC_PALETTE && p->channels == 1));
}

// Opens the page again, which must be that of the probe.
static SrStatus open_page(TIFF *tiff, const SrImageHeader *probe, const File *f, bool floats,
                          Page *p) {
    SR_TRY(read_page(tiff, p));
    SR_TRY(check_samples(p, floats));
    if (p->w != (uint32_t)probe->W || p->h != (uint32_t)probe->H)
        return damaged(f);
    if (p->compression == COMPRESSION_JPEG && p->meaning == PHOTOMETRIC_YCBCR && p->bits == 8 &&
        p->planar == PLANARCONFIG_CONTIG) {
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        p->meaning = PHOTOMETRIC_RGB;
    }
    return SR_OK;
}

SrStatus sr__tiff_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                         SrImagePool *pool, SrImage *out) {
    File f = {.bytes = bytes, .n = n};
    Page p;
    SR_TRY(sr_image_new(pool, probe->H, probe->W, out));
    TIFF *tiff = open_file(&f);
    if (!tiff)
        return damaged(&f);
    SrStatus status = open_page(tiff, probe, &f, false, &p);
    if (status == SR_OK)
        status = is_exact(&p) ? read_pieces(tiff, &f, &p, pool, out)
                              : read_rgba(tiff, &f, &p, pool, out);
    TIFFClose(tiff);
    return status;
}

static bool is_exact_in_floats(const Page *p) {
    bool depth = p->bits == 8 || p->bits == 16 || is_float(p);
    return depth && (p->meaning == PHOTOMETRIC_MINISBLACK || p->meaning == PHOTOMETRIC_MINISWHITE ||
                     p->meaning == PHOTOMETRIC_RGB);
}

// Reads all channels of the file, and makes those that are wanted of them.
static SrStatus read_floats(TIFF *tiff, const File *f, const Page *p, int channels,
                            SrImagePool *pool, SrImage *out) {
    SrPixelChannels have = {p->channels, p->alpha};
    SrImage all;
    SR_TRY(sr__channels_check(have, channels));
    SR_TRY(sr_image_new_floats(pool, (int)p->h, (int)p->w, p->channels, &all));
    SR_TRY(read_pieces(tiff, f, p, pool, &all));
    if (channels == p->channels) {
        *out = all;
        return SR_OK;
    }
    SR_TRY(sr_image_new_floats(pool, all.H, all.W, channels, out));
    sr__channels_fit(all.f, have, (size_t)all.H * (size_t)all.W, channels, out->f);
    return SR_OK;
}

static SrStatus read_colors(TIFF *tiff, const File *f, const Page *p, int channels,
                            SrImagePool *pool, SrImage *out) {
    SR_TRY(sr_image_new(pool, (int)p->h, (int)p->w, out));
    SR_TRY(is_exact(p) ? read_pieces(tiff, f, p, pool, out) : read_rgba(tiff, f, p, pool, out));
    return sr_image_to_floats(out, channels, pool);
}

SrStatus sr__tiff_decode_floats(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                                int channels, SrImagePool *pool, SrImage *out) {
    File f = {.bytes = bytes, .n = n};
    Page p;
    TIFF *tiff = open_file(&f);
    if (!tiff)
        return damaged(&f);
    SrStatus status = open_page(tiff, probe, &f, true, &p);
    if (status == SR_OK)
        status = is_exact_in_floats(&p) ? read_floats(tiff, &f, &p, channels, pool, out)
                                        : read_colors(tiff, &f, &p, channels, pool, out);
    TIFFClose(tiff);
    return status;
}
