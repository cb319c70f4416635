// Mirrors, resizes and blurs images of floats, (H, W, C).
#include "data/pixels/pixel_wide.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/image_form.h"
#include "data/image_pool.h"
#include "data/pixels/filter_weights.h"
#include "data/pixels/pixel_geometry.h"

static size_t channels_of(const SrImage *image) { return (size_t)sr_channels(image->channels); }

static SrStatus out_of_memory(void) { return sr_out_of_memory("an image"); }

// ---- resizing

// The whole pixels that an area touches, and where in them it begins.
typedef struct {
    const float *corner;
    size_t stride, C; // floats per row of the source; channels
    SrFilterSpan y, x;
} Source;

static Source source_of(const SrImage *src, SrArea a) {
    int top = (int)a.top, left = (int)a.left;
    SR_ASSERT(a.top >= 0 && a.left >= 0 && a.h > 0 && a.w > 0);
    int bottom = SR_MIN((int)ceil(a.top + a.h), src->H);
    int right = SR_MIN((int)ceil(a.left + a.w), src->W);
    size_t C = channels_of(src), stride = (size_t)src->W * C;
    SR_ASSERT(top < bottom && left < right); // the area lies inside of the image
    return (Source){.corner = src->f + (size_t)top * stride + (size_t)left * C,
                    .stride = stride,
                    .C = C,
                    .y = {bottom - top, a.top - top, a.h},
                    .x = {right - left, a.left - left, a.w}};
}

static void nearest(const Source *s, const SrImage *out) {
    double sy = s->y.length / out->H, sx = s->x.length / out->W;
    float *to = out->f;
    for (int y = 0; y < out->H; y++) {
        const float *row = s->corner + (size_t)(s->y.start + (y + 0.5) * sy) * s->stride;
        for (int x = 0; x < out->W; x++, to += s->C)
            memcpy(to, row + s->C * (size_t)(s->x.start + (x + 0.5) * sx), s->C * sizeof *to);
    }
}

// to (n) = the rows from, from + stride, ... weighted by w (count).  sum (n) is scratch.
SR_VECTOR_CLONES
static void sum_rows(const float *restrict from, size_t stride, const double *restrict w, int count,
                     size_t n, double *restrict sum, float *restrict to) {
    for (size_t i = 0; i < n; i++)
        sum[i] = 0;
    for (int t = 0; t < count; t++)
        for (size_t i = 0; i < n; i++)
            sum[i] += (double)from[(size_t)t * stride + i] * w[t];
    for (size_t i = 0; i < n; i++)
        to[i] = (float)sum[i];
}

typedef struct {
    double *w, *sum; // weights of one output; sums of one row of the result or of one pixel
    float *rows;     // source rows after the horizontal pass
} Scratch;

static SrStatus scratch_take(const Source *s, SrFilter filter, const SrImage *out,
                             SrImagePool *pool, Scratch *k) {
    int width =
        SR_MAX(sr__filter_width(filter, s->x, out->W), sr__filter_width(filter, s->y, out->H));
    size_t row = (size_t)out->W * s->C;
    k->w = sr_image_pool_take(pool, (size_t)width * sizeof *k->w);
    k->sum = sr_image_pool_take(pool, row * sizeof *k->sum);
    k->rows = sr_image_pool_take(pool, (size_t)s->y.in * row * sizeof *k->rows);
    return k->w && k->sum && k->rows ? SR_OK : out_of_memory();
}

// A column of the result is a sum of columns of the source, for all rows at the same time.
static void pass_horizontal(const Source *s, SrFilter filter, int w, const Scratch *k) {
    for (int x = 0; x < w; x++) {
        int first, count = sr__filter_weights(filter, s->x, w, x, &first, k->w);
        SR_ASSERT(first >= 0 && count > 0 && first + count <= s->x.in);
        for (int y = 0; y < s->y.in; y++)
            sum_rows(s->corner + (size_t)y * s->stride + (size_t)first * s->C, s->C, k->w, count,
                     s->C, k->sum, k->rows + ((size_t)y * (size_t)w + (size_t)x) * s->C);
    }
}

static void pass_vertical(const Source *s, SrFilter filter, const Scratch *k, const SrImage *out) {
    size_t row = (size_t)out->W * s->C;
    for (int y = 0; y < out->H; y++) {
        int first, count = sr__filter_weights(filter, s->y, out->H, y, &first, k->w);
        SR_ASSERT(first >= 0 && count > 0 && first + count <= s->y.in);
        sum_rows(s->corner + (size_t)first * s->stride, s->stride, k->w, count, row, k->sum,
                 out->f + (size_t)y * row);
    }
}

// A pass that would not change anything is skipped, as PIL does.
static SrStatus separable(Source s, SrFilter filter, SrImagePool *pool, const SrImage *out) {
    Scratch k;
    SR_TRY(scratch_take(&s, filter, out, pool, &k));
    if (!sr__filter_unchanged(s.x, out->W)) {
        pass_horizontal(&s, filter, out->W, &k);
        s.corner = k.rows;
        s.stride = (size_t)out->W * s.C;
    }
    pass_vertical(&s, filter, &k, out);
    return SR_OK;
}

SrStatus sr__wide_resample(const SrImage *src, SrArea area, SrResample how, SrImagePool *pool,
                           SrImage *out) {
    SrImage result;
    Source source = source_of(src, area);
    if (sr__filter_unchanged(source.y, how.h) && sr__filter_unchanged(source.x, how.w)) {
        SrBox box = {(int)area.top, (int)area.left, how.h, how.w};
        SR_TRY(sr_pixel_crop(src, box, pool, &result));
    } else {
        SR_TRY(sr_image_new_floats(pool, how.h, how.w, (int)source.C, &result));
        size_t mark = sr_image_pool_mark(pool);
        if (how.filter == SR_FILTER_NEAREST)
            nearest(&source, &result);
        else
            SR_TRY(separable(source, how.filter, pool, &result));
        sr_image_pool_rewind(pool, mark);
    }
    if (how.flip)
        sr_pixel_flip(&result);
    *out = result;
    return SR_OK;
}

// ---- blur

enum { PASSES = 3 };

// A box of 2 radius + 1 samples at full weight and one more on each side at `outer`.
typedef struct {
    int radius;
    double inner, outer;
} Box;

// Gwosdek et al., equations 7, 11 and 14, in double precision.
static Box box_of(double sigma) {
    double variance = sigma * sigma / PASSES, length = sqrt(12 * variance + 1);
    double l = floor((length - 1) / 2);
    double a = (2 * l + 1) * (l * (l + 1) - 3 * variance) / (6 * (variance - (l + 1) * (l + 1)));
    return (Box){(int)l, 1 / (2 * (l + a) + 1), a / (2 * (l + a) + 1)};
}

// One box over n samples, `step` floats apart; the samples at the ends repeat beyond them.
static void blur_line(float *line, int n, size_t step, Box box, float *copy) {
    int r = box.radius;
    double sum = 0;
    for (int i = 0; i < n; i++)
        copy[i] = line[(size_t)i * step];
    for (int i = -r; i <= r; i++)
        sum += copy[SR_MIN(SR_MAX(i, 0), n - 1)];
    for (int i = 0; i < n; i++) {
        double before = copy[SR_MAX(i - r - 1, 0)], after = copy[SR_MIN(i + r + 1, n - 1)];
        line[(size_t)i * step] = (float)(sum * box.inner + (before + after) * box.outer);
        sum += after - copy[SR_MAX(i - r, 0)];
    }
}

SrStatus sr__wide_blur(SrImage *image, double radius, SrImagePool *pool) {
    SR_ASSERT(image->f);
    Box box = box_of(radius);
    size_t C = channels_of(image), row = (size_t)image->W * C, mark = sr_image_pool_mark(pool);
    float *copy = sr_image_pool_take(pool, (size_t)SR_MAX(image->H, image->W) * sizeof *copy);
    if (!copy)
        return out_of_memory();
    for (int pass = 0; pass < PASSES; pass++)
        for (int y = 0; y < image->H; y++)
            for (size_t c = 0; c < C; c++)
                blur_line(image->f + (size_t)y * row + c, image->W, C, box, copy);
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < row; i++)
            blur_line(image->f + i, image->H, row, box, copy);
    sr_image_pool_rewind(pool, mark);
    return SR_OK;
}
