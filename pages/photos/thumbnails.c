// Makes thumbnails and the style sheet that shows them.
#include "pages/photos/thumbnails.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/encode.h"
#include "data/image_form.h"
#include "data/image_pool.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_resample.h"
#include "pages/html.h"

// SMOOTH: smallest side whose pixels are blended when they are drawn larger; below it they stay
// squares.
enum { COLUMNS = 24, QUALITY = 74, SMOOTH = 64, BLOCK = 16, MAX_FILE = 1 << 28 };

static SrStatus out_of_memory(void) { return sr_out_of_memory("thumbnails"); }

// ---- one thumbnail ------------------------------------------------------------------------------

SrStatus sr_thumb_of_image(const SrImage *image, SrImagePool *pool, SrThumb *out) {
    int square = SR_MIN(image->H, image->W), side = SR_MIN(square, SR_THUMB_MOST);
    SrBox box = {(image->H - square) / 2, (image->W - square) / 2, square, square};
    SrImage small;
    SR_TRY(sr_pixel_resize(image, box, side, side, SR_FILTER_BILINEAR, pool, &small));
    size_t bytes = (size_t)side * (size_t)side * 3;
    *out = (SrThumb){side, sr_alloc(bytes)};
    if (!out->rgb)
        return out_of_memory();
    memcpy(out->rgb, small.rgb, bytes);
    return SR_OK;
}

// Decodes no more pixels than a thumbnail needs, where the decoder can.
static SrStatus of_encoded(const void *bytes, size_t n, SrImagePool *pool, SrThumb *out) {
    SrImage image;
    int reduce = 1;
    SR_TRY(sr_image_open(bytes, n, &image));
    while (reduce < 8 && SR_MIN(image.H, image.W) / (2 * reduce) >= SR_THUMB_MOST)
        reduce *= 2;
    SR_TRY(sr_image_finish(&image, reduce, pool));
    return sr_thumb_of_image(&image, pool, out);
}

SrStatus sr_thumb_of_item(const SrDataset *source, const void *set, int64_t item, SrImagePool *pool,
                          SrThumb *out) {
    SrSample sample;
    SR_TRY(source->read(set, item, pool, &sample));
    if (sample.encoded)
        return of_encoded(sample.encoded, sample.encoded_bytes, pool, out);
    SR_TRY(sr_image_to_rgb(&sample.image, pool));
    return sr_thumb_of_image(&sample.image, pool, out);
}

SrStatus sr_thumb_of_file(const char *path, SrImagePool *pool, SrThumb *out) {
    char *bytes;
    size_t n;
    SR_TRY(sr_file_read(path, MAX_FILE, &bytes, &n));
    SrStatus status = of_encoded(bytes, n, pool, out);
    sr_free(bytes);
    return status;
}

void sr_thumb_deinit(SrThumb *thumb) {
    sr_free(thumb->rgb);
    *thumb = (SrThumb){0};
}

SrStatus sr_thumb_scale(const SrThumb *thumb, int side, SrImagePool *pool, uint8_t *rgb) {
    size_t bytes = (size_t)side * (size_t)side * 3;
    memset(rgb, 0, bytes);
    if (!thumb->rgb)
        return SR_OK;
    SrImage image = {.H = thumb->side, .W = thumb->side, .rgb = thumb->rgb}, scaled;
    sr_image_pool_reset(pool);
    SR_TRY(sr_pixel_resize(&image, (SrBox){0, 0, thumb->side, thumb->side}, side, side,
                           SR_FILTER_BILINEAR, pool, &scaled));
    memcpy(rgb, scaled.rgb, bytes);
    return SR_OK;
}

// ---- a sheet of thumbnails ----------------------------------------------------------------------

// Tiles lie `pitch` apart, a multiple of JPEG's blocks, so that neighbours do not leak into each
// other; the rest of a tile repeats its last row and column.
typedef struct {
    int n, side, pitch, columns, rows;
    SrText jpeg;
} Sheet;

static void place(const Sheet *s, int at, const uint8_t *tile, uint8_t *all) {
    int64_t width = (int64_t)s->columns * s->pitch;
    for (int y = 0; y < s->pitch; y++)
        for (int x = 0; x < s->pitch; x++) {
            const uint8_t *from =
                tile + (SR_MIN(y, s->side - 1) * s->side + SR_MIN(x, s->side - 1)) * 3;
            int64_t row = (int64_t)(at / s->columns) * s->pitch + y;
            memcpy(all + (row * width + at % s->columns * s->pitch + x) * 3, from, 3);
        }
}

static SrStatus fill_sheet(const SrThumb *thumbs, const SrThumbUse *uses, int n, SrThumbUse use,
                           SrImagePool *pool, Sheet *s) {
    int at = 0;
    size_t bytes = (size_t)(s->columns * s->pitch) * (size_t)(s->rows * s->pitch) * 3;
    uint8_t *all = sr_calloc(bytes, 1), *tile = sr_alloc((size_t)s->side * (size_t)s->side * 3);
    SrStatus status = all && tile ? SR_OK : out_of_memory();
    for (int i = 0; i < n && status == SR_OK; i++)
        if (uses[i] == use) {
            status = sr_thumb_scale(&thumbs[i], s->side, pool, tile);
            place(s, at++, tile, all);
        }
    if (status == SR_OK)
        sr_jpeg_encode(all, s->rows * s->pitch, s->columns * s->pitch, QUALITY, &s->jpeg);
    sr_free(all);
    sr_free(tile);
    return status;
}

static SrStatus make_sheet(const SrThumb *thumbs, const SrThumbUse *uses, int n, SrThumbUse use,
                           int side, SrImagePool *pool, Sheet *s) {
    *s = (Sheet){.side = side, .pitch = (side + BLOCK - 1) / BLOCK * BLOCK};
    for (int i = 0; i < n; i++)
        s->n += uses[i] == use;
    s->columns = SR_MAX(SR_MIN(s->n, COLUMNS), 1);
    s->rows = (s->n + s->columns - 1) / s->columns;
    return s->n ? fill_sheet(thumbs, uses, n, use, pool, s) : SR_OK;
}

// Returns a background's position along one axis: with sizes in per cent, 100 % is the place at
// which the last tile's edge meets the element's.
static double position(int at, int pitch, int tiles, int side) {
    int room = tiles * pitch - side;
    return room > 0 ? 100.0 * at * pitch / room : 0;
}

static void add_sheet(const Sheet *s, const SrThumbUse *uses, int n, SrThumbUse use, SrText *out) {
    int at = 0;
    if (s->n == 0)
        return;
    for (int i = 0; i < n; i++)
        if (uses[i] == use)
            sr_text_printf(out, "%s.s%d", at++ ? "," : "", i);
    sr_text_printf(out, "{background-size:%.3f%% auto;image-rendering:%s;background-image:url(",
                   100.0 * s->columns * s->pitch / s->side,
                   s->side < SMOOTH ? "pixelated" : "auto");
    sr_text_add(out, "data:image/jpeg;base64,");
    sr_html_base64(s->jpeg.s, s->jpeg.len, out);
    sr_text_add(out, ")}\n");
    at = 0;
    for (int i = 0; i < n; i++)
        if (uses[i] == use) {
            sr_text_printf(out, ".s%d{background-position:%.3f%% %.3f%%}", i,
                           position(at % s->columns, s->pitch, s->columns, s->side),
                           position(at / s->columns, s->pitch, s->rows, s->side));
            at++;
        }
    sr_text_add(out, "\n");
    out->failed = out->failed || s->jpeg.failed;
}

SrStatus sr_thumbs_style(const SrThumb *thumbs, const SrThumbUse *uses, int n, SrText *out) {
    // Sides to try, in pixels: in rows of pictures, on the map.
    static const int tries[][2] = {{SR_THUMB_MOST, SR_THUMB_MOST},
                                   {192, 96},
                                   {160, 80},
                                   {144, 64},
                                   {128, 64},
                                   {112, 64},
                                   {96, 48},
                                   {80, 48},
                                   {64, 32}};
    Sheet large = {0}, small = {0};
    SrImagePool *pool = NULL;
    int most = 1, before[2] = {0, 0};
    for (int i = 0; i < n; i++)
        most = SR_MAX(most, thumbs[i].side);
    SrStatus status = sr_image_pool_new(&pool);
    for (int i = 0; i < SR_COUNT(tries) && status == SR_OK; i++) {
        int side[2] = {SR_MIN(tries[i][0], most), SR_MIN(tries[i][1], most)};
        if (side[0] == before[0] && side[1] == before[1])
            continue;
        memcpy(before, side, sizeof before);
        sr_text_deinit(&large.jpeg);
        sr_text_deinit(&small.jpeg);
        status = make_sheet(thumbs, uses, n, SR_THUMB_LARGE, side[0], pool, &large);
        if (status == SR_OK)
            status = make_sheet(thumbs, uses, n, SR_THUMB_SMALL, side[1], pool, &small);
        if (large.jpeg.len + small.jpeg.len <= SR_THUMBS_BYTES)
            break;
    }
    if (status == SR_OK) {
        sr_text_add(out, "<style>\n");
        add_sheet(&large, uses, n, SR_THUMB_LARGE, out);
        add_sheet(&small, uses, n, SR_THUMB_SMALL, out);
        sr_text_add(out, "</style>\n");
    }
    sr_text_deinit(&large.jpeg);
    sr_text_deinit(&small.jpeg);
    sr_image_pool_free(pool);
    return status;
}
