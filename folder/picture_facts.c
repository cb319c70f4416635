// Measures one picture: hashes, light, detail, and what the file says about itself.
#include "folder/picture_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/image_probe.h"

enum { LEVELS = 256, SHAPE = 32, LOW = 8, SHARP_SIDE = 256, GREY_SPREAD = 4 };

// ---- pixels -------------------------------------------------------------------------------------

static int grey_of(const uint8_t *p) { return (299 * p[0] + 587 * p[1] + 114 * p[2] + 500) / 1000; }

static float share_below(const int64_t *counts, int64_t n, double share) {
    int64_t sum = 0;
    for (int v = 0; v < LEVELS; v++)
        if ((double)(sum += counts[v]) >= share * (double)n)
            return (float)v / (LEVELS - 1);
    return 1;
}

static void measure_levels(const SrImage *image, SrPictureFacts *f) {
    int64_t light[LEVELS] = {0}, grey[LEVELS] = {0}, n = (int64_t)image->H * image->W;
    int spread = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *p = image->rgb + 3 * i;
        int r = p[0], g = p[1], b = p[2];
        light[(int)sqrtf((float)(241 * r * r + 691 * g * g + 68 * b * b) / 1000)]++;
        grey[grey_of(p)]++;
        spread = SR_MAX(spread, SR_MAX(abs(r - g), SR_MAX(abs(g - b), abs(r - b))));
    }
    f->grey = spread <= GREY_SPREAD;
    f->low = share_below(light, n, 0.05);
    f->high = share_below(light, n, 0.99);
    double bits = 0;
    for (int v = 0; v < LEVELS; v++)
        if (grey[v] > 0)
            bits -= (double)grey[v] / (double)n * log2((double)grey[v] / (double)n);
    f->entropy = (float)bits;
}

// Averages squares of s x s pixels to grey values, (H / s, W / s).
static float *shrink(const SrImage *image, int s, SrImagePool *pool, int *h, int *w) {
    *h = SR_MAX(image->H / s, 1);
    *w = SR_MAX(image->W / s, 1);
    float *x = sr_image_pool_take(pool, (size_t)*h * (size_t)*w * sizeof *x);
    for (int i = 0; x && i < *h * *w; i++) {
        int top = i / *w * s, left = i % *w * s, sum = 0, n = 0;
        for (int r = top; r < SR_MIN(top + s, image->H); r++)
            for (int c = left; c < SR_MIN(left + s, image->W); c++, n++)
                sum += grey_of(image->rgb + ((int64_t)r * image->W + c) * 3);
        x[i] = (float)sum / (float)n;
    }
    return x;
}

static float laplacian_variance(const float *x, int h, int w) {
    double sum = 0, squares = 0;
    int64_t n = 0;
    for (int r = 1; r + 1 < h; r++)
        for (int c = 1; c + 1 < w; c++, n++) {
            const float *p = x + r * w + c;
            double v = (double)(p[-1] + p[1] + p[-w] + p[w] - 4 * p[0]);
            sum += v;
            squares += v * v;
        }
    return n > 0 ? (float)(squares / (double)n - sum / (double)n * (sum / (double)n)) : 0;
}

static int ascending(const void *a, const void *b) {
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// Low frequencies of the picture at 32 x 32, without the mean.  x: (h, w) grey values.
static uint64_t shape_hash(const float *x, int h, int w) {
    static const double pi = 3.14159265358979323846;
    float cosine[LOW][SHAPE], small[SHAPE][SHAPE], rows[SHAPE][LOW], v[LOW * LOW],
        sorted[LOW * LOW];
    uint64_t bits = 0;
    for (int i = 0; i < LOW * SHAPE; i++)
        cosine[i / SHAPE][i % SHAPE] = (float)cos(pi * (i / SHAPE + 1) * (i % SHAPE + 0.5) / SHAPE);
    for (int i = 0; i < SHAPE * SHAPE; i++) {
        int top = i / SHAPE * h / SHAPE, bottom = SR_MAX((i / SHAPE + 1) * h / SHAPE, top + 1);
        int left = i % SHAPE * w / SHAPE, right = SR_MAX((i % SHAPE + 1) * w / SHAPE, left + 1);
        float sum = 0;
        for (int r = top; r < bottom; r++)
            for (int c = left; c < right; c++)
                sum += x[r * w + c];
        small[i / SHAPE][i % SHAPE] = sum / (float)((bottom - top) * (right - left));
    }
    for (int r = 0; r < SHAPE; r++)
        for (int k = 0; k < LOW; k++) {
            rows[r][k] = 0;
            for (int c = 0; c < SHAPE; c++)
                rows[r][k] += small[r][c] * cosine[k][c];
        }
    for (int i = 0; i < LOW * LOW; i++) {
        v[i] = 0;
        for (int r = 0; r < SHAPE; r++)
            v[i] += rows[r][i % LOW] * cosine[i / LOW][r];
    }
    memcpy(sorted, v, sizeof v);
    qsort(sorted, LOW * LOW, sizeof *sorted, ascending);
    for (int i = 0; i < LOW * LOW; i++)
        bits |= (uint64_t)(v[i] > (sorted[LOW * LOW / 2 - 1] + sorted[LOW * LOW / 2]) / 2) << i;
    return bits;
}

// Averages the picture to at most SHARP_SIDE pixels per side.
static SrStatus shrink_to_side(const SrImage *image, SrImagePool *pool, int *h, int *w,
                               const float **out) {
    *out = shrink(image, (SR_MAX(image->H, image->W) + SHARP_SIDE - 1) / SHARP_SIDE, pool, h, w);
    return *out ? SR_OK : sr_out_of_memory("a picture");
}

SrStatus sr_picture_shape_hash(const SrImage *image, SrImagePool *pool, uint64_t *out) {
    const float *x;
    int h, w;
    SR_TRY(shrink_to_side(image, pool, &h, &w, &x));
    *out = shape_hash(x, h, w);
    return SR_OK;
}

static SrStatus measure(const SrImage *image, SrImagePool *pool, SrPictureFacts *f) {
    const float *x;
    int h, w;
    const int size[2] = {image->H, image->W};
    f->pixel_hash = sr_hash_more(sr_hash_bytes(size, sizeof size), image->rgb,
                                 (size_t)image->H * (size_t)image->W * 3);
    measure_levels(image, f);
    SR_TRY(shrink_to_side(image, pool, &h, &w, &x));
    f->sharpness = laplacian_variance(x, h, w);
    f->shape_hash = shape_hash(x, h, w);
    return SR_OK;
}

SrStatus sr_picture_facts(const void *bytes, size_t n, SrImagePool *pool, SrPictureFacts *f) {
    SrImageHeader header;
    SrImage image;
    *f = (SrPictureFacts){.orientation = 1, .file_hash = sr_hash_bytes(bytes, n)};
    SR_TRY(sr__image_header_read(bytes, n, &header));
    sr__image_header_upright(&header, &f->H, &f->W);
    f->format = header.format;
    f->stored_grey = header.components == 1;
    f->orientation = header.orientation;
    SR_TRY(sr_image_decode(bytes, n, pool, &image));
    return measure(&image, pool, f);
}
