// The vector loops of batch_norm; what each does is said in batch_norm.h.
//
// Sums over rows add 128 rows in single precision and then join a sum in double.  Forward and backward compute v by the same expression, so the relu's mask is
// found again exactly.
#include "kernels/batch_norm.h"

#include <string.h>

#include "base/compiler.h"
#include "kernels/simd.h"

enum { BLOCK = 128 }; // rows added in single precision

// With m a constant the branch is gone and full vectors are read without a mask.
V_INLINE V load(const float *p, int m) {
    return m == V_LANES ? v_load(p) : v_load_n(p, m);
}
V_INLINE void store(float *p, V a, int m) {
    if (m == V_LANES)
        v_store(p, a);
    else
        v_store_n(p, a, m);
}

// May rows of `width` floats from `to` on be streamed?  Only as whole vectors from an aligned start.
static bool streams(const float *to, int width) {
    return width % V_LANES == 0 && (uintptr_t)to % sizeof(V) == 0;
}

// Sums of a strip: `width` floats join doubles every BLOCK rows, so that single precision only meets
// numbers of like size.  They live in the first-level cache, not in registers: rows are read whole,
// which is what memory is fast at.
V_INLINE void flush(double *sum, float *part, int width) {
    for (int i = 0; i < width; i++)
        sum[i] += (double)part[i];
    memset(part, 0, sizeof(float) * (size_t)width);
}

V_INLINE void stats_lanes(const float *x, const float *shift, float *s, float *q, int c, int m) {
    V d = load(x + c, m) - load(shift + c, m);
    store(s + c, load(s + c, m) + d, m);
    store(q + c, v_fma(d, d, load(q + c, m)), m);
}

static void stats_strip(const float *x, int64_t rows, int64_t stride, int width,
                        const float *shift, double *sum, double *square) {
    float s[SR_BN_STRIP] = {0}, q[SR_BN_STRIP] = {0};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        const float *end = x + SR_MIN(rows, first + BLOCK) * stride;
        for (const float *row = x + first * stride; row < end; row += stride) {
            int c = 0;
            for (; c + V_LANES <= width; c += V_LANES)
                stats_lanes(row, shift, s, q, c, V_LANES);
            if (c < width)
                stats_lanes(row, shift, s, q, c, width - c);
        }
        flush(sum, s, width);
        flush(square, q, width);
    }
}

static void stats(const float *x, int64_t rows, int64_t stride, int width, const float *shift,
                  double *sum, double *square) {
    for (int c = 0; c < width; c += SR_BN_STRIP)
        stats_strip(x + c, rows, stride, SR_MIN(width - c, SR_BN_STRIP), shift + c, sum + c,
                    square + c);
}

// v of the header, at channels c .. of row x.  x - mean comes first: folding the mean into the bias
// would cancel when it is large beside the deviation.
V_INLINE V normalised(V x, SrBatchNormCoefs k, int c, int m) {
    return v_fma(x - load(k.mean + c, m), load(k.a + c, m), load(k.b + c, m));
}

V_INLINE void apply_lanes(float *y, const float *x, const float *residual, int c, int m,
                          SrBatchNormCoefs k, bool relu, bool stream) {
    V v = normalised(load(x + c, m), k, c, m);
    if (residual)
        v += load(residual + c, m);
    v = relu ? v_max(v_zero(), v) : v;
    if (stream)
        v_stream(y + c, v);
    else
        store(y + c, v, m);
}

// Constant `residual == NULL`, `relu` and `stream` make one loop each.
V_INLINE void apply_rows(float *y, const float *x, const float *residual, int64_t rows, int C,
                         SrBatchNormCoefs k, bool relu, bool stream) {
    for (int64_t r = 0; r < rows; r++, y += C, x += C, residual = residual ? residual + C : NULL) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            apply_lanes(y, x, residual, c, V_LANES, k, relu, stream);
        if (c < C)
            apply_lanes(y, x, residual, c, C - c, k, relu, false);
    }
    if (stream)
        v_stream_end();
}

V_INLINE void apply_kind(float *y, const float *x, const float *residual, int64_t rows, int C,
                         SrBatchNormCoefs k, bool relu, bool stream) {
    if (residual && relu)
        apply_rows(y, x, residual, rows, C, k, true, stream);
    else if (residual)
        apply_rows(y, x, residual, rows, C, k, false, stream);
    else
        apply_rows(y, x, NULL, rows, C, k, relu, stream);
}

static void apply(float *y, const float *x, const float *residual, int64_t rows, int C,
                  SrBatchNormCoefs k, bool relu, bool stream) {
    if (stream && streams(y, C))
        apply_kind(y, x, residual, rows, C, k, relu, true);
    else
        apply_kind(y, x, residual, rows, C, k, relu, false);
}

// dy where the relu let its input pass.
V_INLINE V masked(V dy, V x, const float *y, SrBatchNormCoefs k, SrBatchNormMask mask, int c,
                  int m) {
    if (mask == SR_BN_MASK_BY_X)
        return v_where_positive(normalised(x, k, c, m), dy);
    if (mask == SR_BN_MASK_BY_Y)
        return v_where_positive(load(y + c, m), dy);
    return dy;
}

// Pointers to one row of a strip; y and g_out as in the header.
typedef struct {
    const float *x, *y, *dy;
    float *g_out;
} Row;

V_INLINE void reduce_lanes(Row at, SrBatchNormCoefs k, SrBatchNormMask mask, bool stream, float *s,
                           float *q, int c, int m) {
    V v = load(at.x + c, m);
    V g = masked(load(at.dy + c, m), v, at.y, k, mask, c, m);
    if (at.g_out && stream)
        v_stream(at.g_out + c, g);
    else if (at.g_out)
        store(at.g_out + c, g, m);
    store(s + c, load(s + c, m) + g, m);
    store(q + c, v_fma(g, v - load(k.mean + c, m), load(q + c, m)), m);
}

V_INLINE void reduce_strip(const float *x, const float *y, const float *dy, float *g_out,
                           int64_t rows, int64_t stride, int width, SrBatchNormCoefs k,
                           SrBatchNormMask mask, bool stream, double *sum_g, double *sum_gx) {
    float s[SR_BN_STRIP] = {0}, q[SR_BN_STRIP] = {0};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        for (int64_t r = first; r < SR_MIN(rows, first + BLOCK); r++) {
            int64_t i = r * stride;
            Row at = {x + i, y + i, dy + i, g_out ? g_out + i : NULL};
            int c = 0;
            for (; c + V_LANES <= width; c += V_LANES)
                reduce_lanes(at, k, mask, stream, s, q, c, V_LANES);
            if (c < width)
                reduce_lanes(at, k, mask, false, s, q, c, width - c);
        }
        flush(sum_g, s, width);
        flush(sum_gx, q, width);
    }
    if (stream)
        v_stream_end();
}

// One strip, with what the caller's constants make of it.
static void reduce_kind(const float *x, const float *y, const float *dy, float *g_out, int64_t rows,
                        int64_t stride, int width, SrBatchNormCoefs k, SrBatchNormMask mask,
                        bool stream, double *sum_g, double *sum_gx) {
    if (mask == SR_BN_MASK_BY_X) // never with a residual, so never with g_out
        reduce_strip(x, x, dy, NULL, rows, stride, width, k, SR_BN_MASK_BY_X, false, sum_g, sum_gx);
    else if (mask == SR_BN_MASK_BY_Y && stream)
        reduce_strip(x, y, dy, g_out, rows, stride, width, k, SR_BN_MASK_BY_Y, true, sum_g, sum_gx);
    else if (mask == SR_BN_MASK_BY_Y)
        reduce_strip(x, y, dy, g_out, rows, stride, width, k, SR_BN_MASK_BY_Y, false, sum_g, sum_gx);
    else
        reduce_strip(x, x, dy, g_out, rows, stride, width, k, SR_BN_NO_MASK, false, sum_g, sum_gx);
}

static void reduce(const float *x, const float *y, const float *dy, float *g_out, int64_t rows,
                   int64_t stride, int width, SrBatchNormCoefs k, SrBatchNormMask mask, bool stream,
                   double *sum_g, double *sum_gx) {
    stream = g_out && stream && streams(g_out, width) && stride % V_LANES == 0;
    for (int c = 0; c < width; c += SR_BN_STRIP) {
        SrBatchNormCoefs at = {k.mean + c, k.a + c, k.b + c, NULL, NULL};
        reduce_kind(x + c, y + c, dy + c, g_out ? g_out + c : NULL, rows, stride,
                    SR_MIN(width - c, SR_BN_STRIP), at, mask, stream, sum_g + c, sum_gx + c);
    }
}

V_INLINE void input_grad_lanes(float *dx, Row at, int c, int m, SrBatchNormCoefs k,
                               SrBatchNormMask mask, bool stream) {
    V v = load(at.x + c, m);
    V g = masked(load(at.dy + c, m), v, at.y, k, mask, c, m);
    V from_sums = v_fma(v - load(k.mean + c, m), load(k.k1 + c, m), load(k.k0 + c, m));
    V d = g * load(k.a + c, m) - from_sums;
    if (stream)
        v_stream(dx + c, d);
    else
        store(dx + c, d, m);
}

V_INLINE void input_grad_rows(float *dx, Row at, int64_t rows, int C, SrBatchNormCoefs k,
                              SrBatchNormMask mask, bool stream) {
    for (int64_t r = 0; r < rows; r++, dx += C, at.x += C, at.y += C, at.dy += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            input_grad_lanes(dx, at, c, V_LANES, k, mask, stream);
        if (c < C)
            input_grad_lanes(dx, at, c, C - c, k, mask, false);
    }
    if (stream)
        v_stream_end();
}

static void input_grad(float *dx, const float *x, const float *y, const float *dy, int64_t rows,
                       int C, SrBatchNormCoefs k, SrBatchNormMask mask, bool stream) {
    Row at = {x, y, dy, NULL};
    if (mask == SR_BN_MASK_BY_X)
        input_grad_rows(dx, at, rows, C, k, SR_BN_MASK_BY_X, false);
    else if (mask == SR_BN_MASK_BY_Y)
        input_grad_rows(dx, at, rows, C, k, SR_BN_MASK_BY_Y, false);
    else if (stream && streams(dx, C))
        input_grad_rows(dx, at, rows, C, k, SR_BN_NO_MASK, true);
    else
        input_grad_rows(dx, at, rows, C, k, SR_BN_NO_MASK, false);
}

const SrBatchNormKernels SR_ISA_SYMBOL(sr__batch_norm_kernels) = {stats, apply, reduce, input_grad};
