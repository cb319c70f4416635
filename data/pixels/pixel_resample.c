// Separable resampling with antialiasing, in PIL's fixed point: coefficients of 22 fractional bits,
// a horizontal pass rounded to bytes, then a vertical one.  The order and the rounding between the
// passes are part of the result.
#include "data/pixels/pixel_resample.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/image_pool.h"
#include "data/pixels/filter_weights.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_wide.h"

#define PRECISION 22 // 32 bits - 8 of the pixel - 2 so that overshooting filters do not overflow
#define STRIP \
    1536 // bytes of a row summed at a time: their 32-bit sums stay in the first-level cache

// For each output position: the first source position, how many, and their weights.
typedef struct {
    int n, width;     // outputs, room for weights each
    int *first;       // (n)
    int *count;       // (n)
    int32_t *k;       // (n, width), 22 fractional bits, sum about 2^22
    uint16_t *k_fast; // (n, width), 16 fractional bits; NULL unless asked for
} Taps;

// Weights of output i, rounded half away from zero, as PIL does.
static void taps_fill(SrFilter filter, int i, SrFilterSpan span, double *w, Taps *taps) {
    int count = sr__filter_weights(filter, span, taps->n, i, &taps->first[i], w);
    SR_ASSERT(count > 0 && count <= taps->width && taps->first[i] >= 0 &&
              taps->first[i] + count <= span.in);
    for (int t = 0; t < count; t++) {
        double v = w[t] * (1 << PRECISION);
        taps->k[(size_t)i * taps->width + t] = (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
    }
    for (int t = 0; t < count && taps->k_fast; t++) // none is negative
        taps->k_fast[(size_t)i * taps->width + t] =
            (uint16_t)SR_MIN((taps->k[(size_t)i * taps->width + t] + 32) >> 6, UINT16_MAX);
    taps->count[i] = count;
}

// Resizing a span to `out`; all of it scratch of the pool.
static SrStatus taps_make(SrFilter filter, SrFilterSpan span, int out, bool fast, SrImagePool *pool,
                          Taps *taps) {
    *taps = (Taps){.n = out, .width = sr__filter_width(filter, span, out)};
    taps->first = sr_image_pool_take(pool, sizeof(int) * (size_t)out);
    taps->count = sr_image_pool_take(pool, sizeof(int) * (size_t)out);
    taps->k = sr_image_pool_take(pool, sizeof(int32_t) * (size_t)out * (size_t)taps->width);
    if (fast)
        taps->k_fast =
            sr_image_pool_take(pool, sizeof(uint16_t) * (size_t)out * (size_t)taps->width);
    double *w = sr_image_pool_take(pool, sizeof(double) * (size_t)taps->width);
    if (!taps->first || !taps->count || !taps->k || !w || (fast && !taps->k_fast))
        return sr_out_of_memory("the weights of a resize");
    for (int i = 0; i < out; i++)
        taps_fill(filter, i, span, w, taps);
    return SR_OK;
}

// ---- weighted sums of rows of bytes ----

// Back from fixed point; filters with negative lobes overshoot.
SR_INLINE uint8_t level(int32_t sum) {
    int32_t v = sum >> PRECISION;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

// sum[i] (n) = start[i] + up to four taps; `taps` is a constant where it is called.
SR_INLINE int32_t four(const uint8_t *const s[4], const int32_t k[4], int taps, int i) {
    int32_t v = s[0][i] * k[0] + s[1][i] * k[1];
    if (taps > 2)
        v += s[2][i] * k[2];
    return taps > 3 ? v + s[3][i] * k[3] : v;
}

// All of a sum's taps at once, without a sum in memory.
SR_INLINE void sum_few(const uint8_t *const s[4], const int32_t k[4], int taps, int n,
                       uint8_t *restrict dst) {
    for (int i = 0; i < n; i++)
        dst[i] = level((1 << (PRECISION - 1)) + four(s, k, taps, i));
}

// The next four of `count` rows, and their weights; what is missing weighs nothing.
SR_INLINE void next_four(const uint8_t *src, size_t stride, const int32_t *weights, int count,
                         const uint8_t *s[4], int32_t k[4]) {
    for (int t = 0; t < 4; t++) {
        s[t] = src + (t < count ? (size_t)t * stride : 0);
        k[t] = t < count ? weights[t] : 0;
    }
}

// dst (n <= STRIP) = the rows src, src + stride, ... weighted.
SR_INLINE void sum_rows(const uint8_t *src, size_t stride, const int32_t *weights, int count, int n,
                        uint8_t *restrict dst) {
    const uint8_t *s[4];
    int32_t k[4], sum[STRIP];
    next_four(src, stride, weights, count, s, k);
    if (count <= 2) {
        sum_few(s, k, 2, n, dst);
    } else if (count == 3) {
        sum_few(s, k, 3, n, dst);
    } else if (count == 4) {
        sum_few(s, k, 4, n, dst);
    } else {
        for (int i = 0; i < n; i++)
            sum[i] = (1 << (PRECISION - 1)) + four(s, k, 4, i);
        int t = 4;
        for (; t + 4 < count; t += 4) {
            next_four(src + (size_t)t * stride, stride, weights + t, 4, s, k);
            for (int i = 0; i < n; i++)
                sum[i] += four(s, k, 4, i);
        }
        next_four(src + (size_t)t * stride, stride, weights + t, count - t, s, k);
        for (int i = 0; i < n; i++)
            dst[i] = level(sum[i] + four(s, k, 4, i));
    }
}

// ---- the same in 16 bits: fast mode ----
// Levels are multiplied by 2^8, and weights have 16 bits.  A product keeps 8 fractional bits, the
// upper half of a 16-bit multiplication, which is one instruction.  A register holds twice as many.

// The upper half of a level times a weight.
SR_INLINE uint16_t product(uint8_t p, uint16_t k) {
    uint16_t scaled = (uint16_t)(p << 8);
    return (uint16_t)(((uint32_t)scaled * k) >> 16);
}

// Like `four`.
SR_INLINE uint16_t four_fast(const uint8_t *const s[4], const uint16_t k[4], int taps, int i) {
    uint16_t v = (uint16_t)(product(s[0][i], k[0]) + product(s[1][i], k[1]));
    if (taps > 2)
        v = (uint16_t)(v + product(s[2][i], k[2]));
    return taps > 3 ? (uint16_t)(v + product(s[3][i], k[3])) : v;
}

SR_INLINE void sum_few_fast(const uint8_t *const s[4], const uint16_t k[4], int taps, int n,
                            uint8_t *restrict dst) {
    for (int i = 0; i < n; i++)
        dst[i] = (uint8_t)((uint16_t)(four_fast(s, k, taps, i) + 128) >> 8);
}

SR_INLINE void next_four_fast(const uint8_t *src, size_t stride, const uint16_t *weights, int count,
                              const uint8_t *s[4], uint16_t k[4]) {
    for (int t = 0; t < 4; t++) {
        s[t] = src + (t < count ? (size_t)t * stride : 0);
        k[t] = t < count ? weights[t] : 0;
    }
}

// Like sum_rows, in 16 bits.  Weights add up to little more than 2^16, so that sums of 255 * 2^8
// + 128 and the excess stay below 2^16.
SR_INLINE void sum_rows_fast(const uint8_t *src, size_t stride, const uint16_t *weights, int count,
                             int n, uint8_t *restrict dst) {
    const uint8_t *s[4];
    uint16_t k[4], sum[STRIP];
    next_four_fast(src, stride, weights, count, s, k);
    if (count <= 2) {
        sum_few_fast(s, k, 2, n, dst);
    } else if (count == 3) {
        sum_few_fast(s, k, 3, n, dst);
    } else if (count == 4) {
        sum_few_fast(s, k, 4, n, dst);
    } else {
        for (int i = 0; i < n; i++)
            sum[i] = (uint16_t)(128 + four_fast(s, k, 4, i));
        int t = 4;
        for (; t + 4 < count; t += 4) {
            next_four_fast(src + (size_t)t * stride, stride, weights + t, 4, s, k);
            for (int i = 0; i < n; i++)
                sum[i] = (uint16_t)(sum[i] + four_fast(s, k, 4, i));
        }
        next_four_fast(src + (size_t)t * stride, stride, weights + t, count - t, s, k);
        for (int i = 0; i < n; i++)
            dst[i] = (uint8_t)((uint16_t)(sum[i] + four_fast(s, k, 4, i)) >> 8);
    }
}

// ---- vertical ----

// A row of the result is a sum of rows of the source, strip by strip.
SR_VECTOR_CLONES
static void pass_vertical(const uint8_t *src, size_t stride, int row_bytes, const Taps *taps,
                          uint8_t *dst) {
    for (int y = 0; y < taps->n; y++, dst += row_bytes) {
        const uint8_t *from = src + (size_t)taps->first[y] * stride;
        size_t k = (size_t)y * (size_t)taps->width;
        for (int i = 0; i < row_bytes; i += STRIP) {
            int n = SR_MIN(STRIP, row_bytes - i);
            if (taps->k_fast)
                sum_rows_fast(from + i, stride, taps->k_fast + k, taps->count[y], n, dst + i);
            else
                sum_rows(from + i, stride, taps->k + k, taps->count[y], n, dst + i);
        }
    }
}

// ---- horizontal: the same on its side ----
// Sixteen rows are laid across each other, byte by byte, so that a pixel of all of them is COLUMN
// neighbouring bytes and a column of the result is a sum of columns of the source; then back.  Both
// ways are four rounds of riffling, which are vector instructions on every machine.

#define ROWS 16
#define COLUMN (3 * ROWS)

// out (2 n) takes turns of a and b (n).
SR_VECTOR_CLONES
static void riffle(const uint8_t *restrict a, const uint8_t *restrict b, size_t n,
                   uint8_t *restrict out) {
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
    }
}

// The other way.
SR_VECTOR_CLONES
static void unriffle(const uint8_t *restrict in, size_t n, uint8_t *restrict a,
                     uint8_t *restrict b) {
    for (size_t i = 0; i < n; i++) {
        a[i] = in[2 * i];
        b[i] = in[2 * i + 1];
    }
}

// Interleaves rows [0, count) of n bytes, `stride` apart, into out (n, ROWS).  The last row
// replaces missing ones.  `other` (n, ROWS) is scratch.
static void lay_across(const uint8_t *src, size_t stride, int count, size_t n, uint8_t *other,
                       uint8_t *out) {
    for (int r = 0; r < 8; r++)
        riffle(src + (size_t)SR_MIN(r, count - 1) * stride,
               src + (size_t)SR_MIN(r + 8, count - 1) * stride, n, other + (size_t)r * 2 * n);
    for (int r = 0; r < 4; r++)
        riffle(other + (size_t)r * 2 * n, other + (size_t)(r + 4) * 2 * n, 2 * n,
               out + (size_t)r * 4 * n);
    for (int r = 0; r < 2; r++)
        riffle(out + (size_t)r * 4 * n, out + (size_t)(r + 2) * 4 * n, 4 * n,
               other + (size_t)r * 8 * n);
    riffle(other, other + 8 * n, 8 * n, out);
}

// Splits in (n, ROWS), which is overwritten, into rows [0, count) of n bytes, `stride` apart.
static void lay_back(uint8_t *in, size_t n, uint8_t *other, int count, size_t stride,
                     uint8_t *dst) {
    unriffle(in, 8 * n, other, other + 8 * n); // even rows, odd rows
    for (int r = 0; r < 2; r++)
        unriffle(other + (size_t)r * 8 * n, 4 * n, in + (size_t)r * 4 * n,
                 in + (size_t)(r + 2) * 4 * n);
    for (int r = 0; r < 4; r++)
        unriffle(in + (size_t)r * 4 * n, 2 * n, other + (size_t)r * 2 * n,
                 other + (size_t)(r + 4) * 2 * n);
    for (int r = 0; r < 8; r++)
        unriffle(other + (size_t)r * 2 * n, n, in + (size_t)r * n, in + (size_t)(r + 8) * n);
    for (int r = 0; r < count; r++)
        memcpy(dst + (size_t)r * stride, in + (size_t)r * n, n);
}

// flip: from right to left.
SR_VECTOR_CLONES
static void sum_columns(const uint8_t *src, const Taps *taps, bool flip, uint8_t *dst) {
    for (int x = 0; x < taps->n; x++) {
        const uint8_t *from = src + (size_t)taps->first[x] * COLUMN;
        size_t k = (size_t)x * (size_t)taps->width;
        uint8_t *to = dst + (size_t)(flip ? taps->n - 1 - x : x) * COLUMN;
        if (taps->k_fast)
            sum_rows_fast(from, COLUMN, taps->k_fast + k, taps->count[x], COLUMN, to);
        else
            sum_rows(from, COLUMN, taps->k + k, taps->count[x], COLUMN, to);
    }
}

// `rows` rows of w pixels, `stride` bytes apart, to rows of 3 * taps->n bytes.
static SrStatus pass_horizontal(const uint8_t *src, size_t stride, int rows, int w,
                                const Taps *taps, bool flip, SrImagePool *pool, uint8_t *dst) {
    size_t in = (size_t)w * 3, out = (size_t)taps->n * 3, larger = SR_MAX(in, out) * ROWS;
    uint8_t *across = sr_image_pool_take(pool, larger), *other = sr_image_pool_take(pool, larger);
    uint8_t *result = sr_image_pool_take(pool, out * ROWS);
    SR_TRY_MEMORY(across && other && result, "a resize");
    for (int y = 0; y < rows; y += ROWS, src += ROWS * stride, dst += ROWS * out) {
        int count = SR_MIN(ROWS, rows - y);
        lay_across(src, stride, count, in, other, across);
        sum_columns(across, taps, flip, result);
        lay_back(result, out, other, count, out, dst);
    }
    return SR_OK;
}

// ---- both ----

// The whole pixels that an area touches, and where in them it begins.
typedef struct {
    const uint8_t *corner;
    size_t stride;
    SrFilterSpan y, x;
} Source;

static Source source_of(const SrImage *src, SrArea a) {
    int top = (int)a.top, left = (int)a.left;
    SR_ASSERT(a.top >= 0 && a.left >= 0 && a.h > 0 && a.w > 0);
    int bottom = SR_MIN((int)ceil(a.top + a.h), src->H),
        right = SR_MIN((int)ceil(a.left + a.w), src->W);
    size_t stride = (size_t)src->W * 3;
    SR_ASSERT(top < bottom && left < right); // the area lies inside of the image
    return (Source){.corner = src->rgb + (size_t)top * stride + (size_t)left * 3,
                    .stride = stride,
                    .y = {bottom - top, a.top - top, a.h},
                    .x = {right - left, a.left - left, a.w}};
}

// PIL takes the source pixel that the centre of the output pixel falls into.
static void nearest(const Source *s, const SrImage *out) {
    double sy = s->y.length / out->H, sx = s->x.length / out->W;
    uint8_t *dst = out->rgb;
    for (int y = 0; y < out->H; y++) {
        const uint8_t *row = s->corner + (size_t)(s->y.start + (y + 0.5) * sy) * s->stride;
        for (int x = 0; x < out->W; x++, dst += 3)
            memcpy(dst, row + 3 * (size_t)(s->x.start + (x + 0.5) * sx), 3);
    }
}

// how->flip is left set when there was no horizontal pass to do it in.
static SrStatus separable(Source s, SrResample *how, SrImagePool *pool, const SrImage *out) {
    Taps taps;
    bool only = sr__filter_unchanged(s.y, out->H),
         negative = how->filter == SR_FILTER_LANCZOS || how->filter == SR_FILTER_BICUBIC;
    bool fast = how->fast && !negative;
    size_t row = (size_t)out->W * 3;
    if (!sr__filter_unchanged(s.x, out->W)) {
        SR_TRY(taps_make(how->filter, s.x, out->W, fast, pool, &taps));
        uint8_t *rows = only ? out->rgb : sr_image_pool_take(pool, (size_t)s.y.in * row);
        SR_TRY_MEMORY(rows, "a resize");
        SR_TRY(pass_horizontal(s.corner, s.stride, s.y.in, s.x.in, &taps, how->flip, pool, rows));
        how->flip = false;
        s.corner = rows;
        s.stride = row;
    }
    if (only)
        return SR_OK;
    SR_TRY(taps_make(how->filter, s.y, out->H, fast, pool, &taps));
    pass_vertical(s.corner, s.stride, (int)row, &taps, out->rgb);
    return SR_OK;
}

// `out` may be `src`: it is written last.
SrStatus sr_pixel_resample(const SrImage *src, SrArea area, SrResample how, SrImagePool *pool,
                           SrImage *out) {
    SrImage result;
    if (src->f)
        return sr__wide_resample(src, area, how, pool, out);
    Source source = source_of(src, area);
    if (sr__filter_unchanged(source.y, how.h) && sr__filter_unchanged(source.x, how.w)) {
        SR_TRY(sr_pixel_crop(src, (SrBox){(int)area.top, (int)area.left, how.h, how.w}, pool,
                             &result));
    } else {
        SR_TRY(sr_image_new(pool, how.h, how.w, &result));
        size_t mark = sr_image_pool_mark(pool);
        if (how.filter == SR_FILTER_NEAREST)
            nearest(&source, &result);
        else
            SR_TRY(separable(source, &how, pool, &result));
        sr_image_pool_rewind(pool, mark);
    }
    if (how.flip)
        sr_pixel_flip(&result);
    *out = result;
    return SR_OK;
}

SrStatus sr_pixel_resize(const SrImage *src, SrBox b, int h, int w, SrFilter filter,
                         SrImagePool *pool, SrImage *out) {
    SrResample how = {.h = h, .w = w, .filter = filter};
    return sr_pixel_resample(src, (SrArea){b.top, b.left, b.h, b.w}, how, pool, out);
}
