// Vector loops of batch_norm, compiled once per instruction set (batch_norm_rows.h).
//
// Sums over rows add 128 rows in single precision and then join a sum in double.  Forward and
// backward compute v by the same expression, so that the relu's mask is the same.  Every loop is
// inlined once for floats and once for bfloat16 (`type`); `at` counts elements.
#include "kernels/norm/batch_norm_rows.h"

#include <string.h>

#include "base/compiler.h"
#include "kernels/core/simd.h"

enum { BLOCK = 128 }; // rows added in single precision

// With a constant m the branch disappears, and full vectors are read without a mask.
V_INLINE V load(const float *p, int m) { return m == V_LANES ? v_load(p) : v_load_n(p, m); }
V_INLINE void store(float *p, V a, int m) {
    if (m == V_LANES)
        v_store(p, a);
    else
        v_store_n(p, a, m);
}

// Returns whether rows of `width` elements from `to` on can be streamed: whole vectors from an
// aligned start.
V_INLINE bool streams(SrDtype type, const void *to, int width) {
    size_t vector = V_LANES * (type == SR_BF16 ? sizeof(SrBf16) : sizeof(float));
    return width % V_LANES == 0 && (uintptr_t)to % vector == 0;
}

// Stores element `i` and the m - 1 after it; with `stream`, bypassing the caches.
V_INLINE void give(SrDtype type, void *p, int64_t i, V a, int m, bool stream) {
    if (!stream)
        v_put(type, p, i, a, m);
    else if (type == SR_BF16)
        v_stream_bf16((SrBf16 *)p + i, a);
    else
        v_stream((float *)p + i, a);
}

// Sums of a strip: `width` floats join doubles every BLOCK rows, so that single precision only
// meets numbers of like size.  The sums live in the first-level cache, not in registers, because
// memory is fastest when rows are read whole.
V_INLINE void flush(double *sum, float *part, int width) {
    for (int i = 0; i < width; i++)
        sum[i] += (double)part[i];
    memset(part, 0, sizeof(float) * (size_t)width);
}

V_INLINE void stats_lanes(SrDtype type, const void *x, int64_t at, const void *shift, int from,
                          float *s, float *q, int c, int m) {
    V d = v_get(type, x, at + c, m) - v_get(type, shift, from + c, m);
    store(s + c, load(s + c, m) + d, m);
    store(q + c, v_fma(d, d, load(q + c, m)), m);
}

// Sums channels [from, from + width).
V_INLINE void stats_strip(SrDtype type, const void *x, int64_t rows, int64_t stride, int from,
                          int width, const void *shift, double *sum, double *square) {
    float s[SR_BN_STRIP] = {0}, q[SR_BN_STRIP] = {0};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t end = SR_MIN(rows, first + BLOCK) * stride + from;
        for (int64_t at = first * stride + from; at < end; at += stride) {
            int c = 0;
            for (; c + V_LANES <= width; c += V_LANES)
                stats_lanes(type, x, at, shift, from, s, q, c, V_LANES);
            if (c < width)
                stats_lanes(type, x, at, shift, from, s, q, c, width - c);
        }
        flush(sum + from, s, width);
        flush(square + from, q, width);
    }
}

V_INLINE void stats_any(SrDtype type, const void *x, int64_t rows, int64_t stride, int width,
                        const void *shift, double *sum, double *square) {
    for (int c = 0; c < width; c += SR_BN_STRIP)
        stats_strip(type, x, rows, stride, c, SR_MIN(width - c, SR_BN_STRIP), shift, sum, square);
}

// Joins units by: sum of (x - shift) = sum of (x - own) + n (own - shift), and so for squares.
static void join(const SrChannelSums *sums, int C, int from, int width, const float *shift,
                 double *sum, double *square) {
    for (int64_t u = 0; u < sums->units; u++) {
        const float *own = sums->unit + 3 * u * C + from, *s = own + C, *q = s + C;
        double n = (double)sums->count[u];
        for (int i = 0; i < width; i++) {
            double d = (double)own[i] - (double)shift[from + i];
            sum[from + i] += (double)s[i] + n * d;
            square[from + i] += (double)q[i] + d * (2 * (double)s[i] + n * d);
        }
    }
}

// Returns v (batch_norm_rows.h) at channels c .. of row x.  x - mean comes first: folding the mean
// into the bias would cancel when the mean is large compared with the deviation.
V_INLINE V normalised(V x, SrBatchNormCoefs k, int c, int m) {
    return v_fma(x - load(k.mean + c, m), load(k.a + c, m), load(k.b + c, m));
}

// Normalises channels c .. of the row that begins at element `at`.
V_INLINE void apply_lanes(SrDtype type, void *y, const void *x, const void *residual, int64_t at,
                          int c, int m, SrBatchNormCoefs k, bool relu, bool stream) {
    V v = normalised(v_get(type, x, at + c, m), k, c, m);
    if (residual)
        v += v_get(type, residual, at + c, m);
    give(type, y, at + c, relu ? v_max(v_zero(), v) : v, m, stream);
}

// Constant `residual == NULL`, `relu` and `stream` make one loop each.
V_INLINE void apply_rows(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                         int C, SrBatchNormCoefs k, bool relu, bool stream) {
    for (int64_t at = 0; at < rows * C; at += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            apply_lanes(type, y, x, residual, at, c, V_LANES, k, relu, stream);
        if (c < C)
            apply_lanes(type, y, x, residual, at, c, C - c, k, relu, false);
    }
    if (stream)
        v_stream_end();
}

V_INLINE void apply_kind(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                         int C, SrBatchNormCoefs k, bool relu, bool stream) {
    if (residual && relu)
        apply_rows(type, y, x, residual, rows, C, k, true, stream);
    else if (residual)
        apply_rows(type, y, x, residual, rows, C, k, false, stream);
    else
        apply_rows(type, y, x, NULL, rows, C, k, relu, stream);
}

V_INLINE void apply_any(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                        int C, SrBatchNormCoefs k, bool relu, bool stream) {
    if (stream && streams(type, y, C))
        apply_kind(type, y, x, residual, rows, C, k, relu, true);
    else
        apply_kind(type, y, x, residual, rows, C, k, relu, false);
}

// Returns dy where the relu let its input pass, else 0: element `at` of y, channel c of the
// coefficients.
V_INLINE V masked(SrDtype type, V dy, V x, const void *y, int64_t at, SrBatchNormCoefs k,
                  SrBatchNormMask mask, int c, int m) {
    if (mask == SR_BN_MASK_BY_X)
        return v_where_positive(normalised(x, k, c, m), dy);
    if (mask == SR_BN_MASK_BY_Y)
        return v_where_positive(v_get(type, y, at, m), dy);
    return dy;
}

// Operands and result of the gradients' sums; y and g_out as in batch_norm_rows.h.
typedef struct {
    const void *x, *y, *dy;
    void *g_out;
} Tensors;

V_INLINE void reduce_lanes(SrDtype type, Tensors t, int64_t at, SrBatchNormCoefs k,
                           SrBatchNormMask mask, bool stream, float *s, float *q, int c, int m) {
    V v = v_get(type, t.x, at + c, m);
    V g = masked(type, v_get(type, t.dy, at + c, m), v, t.y, at + c, k, mask, c, m);
    if (t.g_out)
        give(type, t.g_out, at + c, g, m, stream);
    store(s + c, load(s + c, m) + g, m);
    store(q + c, v_fma(g, v - load(k.mean + c, m), load(q + c, m)), m);
}

// Sums channels [from, from + width); the coefficients k begin at channel `from`.
V_INLINE void reduce_strip(SrDtype type, Tensors t, int64_t rows, int64_t stride, int from,
                           int width, SrBatchNormCoefs k, SrBatchNormMask mask, bool stream,
                           double *sum_g, double *sum_gx) {
    float s[SR_BN_STRIP] = {0}, q[SR_BN_STRIP] = {0};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t end = SR_MIN(rows, first + BLOCK) * stride + from;
        for (int64_t at = first * stride + from; at < end; at += stride) {
            int c = 0;
            for (; c + V_LANES <= width; c += V_LANES)
                reduce_lanes(type, t, at, k, mask, stream, s, q, c, V_LANES);
            if (c < width)
                reduce_lanes(type, t, at, k, mask, false, s, q, c, width - c);
        }
        flush(sum_g + from, s, width);
        flush(sum_gx + from, q, width);
    }
    if (stream)
        v_stream_end();
}

// Sums one strip, with a loop for each set of the caller's constants.
V_INLINE void reduce_kind(SrDtype type, Tensors t, int64_t rows, int64_t stride, int from,
                          int width, SrBatchNormCoefs k, SrBatchNormMask mask, bool stream,
                          double *sum_g, double *sum_gx) {
    Tensors no_out = {t.x, t.x, t.dy,
                      NULL}; // masked by x: there is no residual, so there is no g_out
    if (mask == SR_BN_MASK_BY_X)
        reduce_strip(type, no_out, rows, stride, from, width, k, SR_BN_MASK_BY_X, false, sum_g,
                     sum_gx);
    else if (mask == SR_BN_MASK_BY_Y && stream)
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_MASK_BY_Y, true, sum_g, sum_gx);
    else if (mask == SR_BN_MASK_BY_Y)
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_MASK_BY_Y, false, sum_g, sum_gx);
    else
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_NO_MASK, false, sum_g, sum_gx);
}

V_INLINE void reduce_any(SrDtype type, const void *x, const void *y, const void *dy, void *g_out,
                         int64_t rows, int64_t stride, int width, SrBatchNormCoefs k,
                         SrBatchNormMask mask, bool stream, double *sum_g, double *sum_gx) {
    Tensors t = {x, y, dy, g_out};
    stream = g_out && stream && streams(type, g_out, width) && stride % V_LANES == 0;
    for (int c = 0; c < width; c += SR_BN_STRIP) {
        SrBatchNormCoefs at = {k.mean + c, k.a + c, k.b + c, NULL, NULL};
        reduce_kind(type, t, rows, stride, c, SR_MIN(width - c, SR_BN_STRIP), at, mask, stream,
                    sum_g, sum_gx);
    }
}

V_INLINE void input_grad_lanes(SrDtype type, void *dx, Tensors t, int64_t at, int c, int m,
                               SrBatchNormCoefs k, SrBatchNormMask mask, bool stream) {
    V v = v_get(type, t.x, at + c, m);
    V g = masked(type, v_get(type, t.dy, at + c, m), v, t.y, at + c, k, mask, c, m);
    V from_sums = v_fma(v - load(k.mean + c, m), load(k.k1 + c, m), load(k.k0 + c, m));
    give(type, dx, at + c, g * load(k.a + c, m) - from_sums, m, stream);
}

V_INLINE void input_grad_rows(SrDtype type, void *dx, Tensors t, int64_t rows, int C,
                              SrBatchNormCoefs k, SrBatchNormMask mask, bool stream) {
    for (int64_t at = 0; at < rows * C; at += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            input_grad_lanes(type, dx, t, at, c, V_LANES, k, mask, stream);
        if (c < C)
            input_grad_lanes(type, dx, t, at, c, C - c, k, mask, false);
    }
    if (stream)
        v_stream_end();
}

V_INLINE void input_grad_any(SrDtype type, void *dx, const void *x, const void *y, const void *dy,
                             int64_t rows, int C, SrBatchNormCoefs k, SrBatchNormMask mask,
                             bool stream) {
    Tensors t = {x, y, dy, NULL};
    if (mask == SR_BN_MASK_BY_X)
        input_grad_rows(type, dx, t, rows, C, k, SR_BN_MASK_BY_X, false);
    else if (mask == SR_BN_MASK_BY_Y)
        input_grad_rows(type, dx, t, rows, C, k, SR_BN_MASK_BY_Y, false);
    else if (stream && streams(type, dx, C))
        input_grad_rows(type, dx, t, rows, C, k, SR_BN_NO_MASK, true);
    else
        input_grad_rows(type, dx, t, rows, C, k, SR_BN_NO_MASK, false);
}

// Both types, as functions.
#define INSTANCE(name, type)                                                                      \
    static void stats_##name(const void *x, int64_t rows, int64_t stride, int width,              \
                             const void *shift, double *sum, double *square) {                    \
        stats_any(type, x, rows, stride, width, shift, sum, square);                              \
    }                                                                                             \
    static void apply_##name(void *y, const void *x, const void *residual, int64_t rows, int C,   \
                             SrBatchNormCoefs k, bool relu, bool stream) {                        \
        apply_any(type, y, x, residual, rows, C, k, relu, stream);                                \
    }                                                                                             \
    static void reduce_##name(const void *x, const void *y, const void *dy, void *g_out,          \
                              int64_t rows, int64_t stride, int width, SrBatchNormCoefs k,        \
                              SrBatchNormMask mask, bool stream, double *sum_g, double *sum_gx) { \
        reduce_any(type, x, y, dy, g_out, rows, stride, width, k, mask, stream, sum_g, sum_gx);   \
    }                                                                                             \
    static void input_grad_##name(void *dx, const void *x, const void *y, const void *dy,         \
                                  int64_t rows, int C, SrBatchNormCoefs k, SrBatchNormMask mask,  \
                                  bool stream) {                                                  \
        input_grad_any(type, dx, x, y, dy, rows, C, k, mask, stream);                             \
    }
INSTANCE(f32, SR_F32)
INSTANCE(bf16, SR_BF16)

const SrBatchNormTables SR_ISA_SYMBOL(sr__batch_norm_tables) = {
    .f32 = {stats_f32, join, apply_f32, reduce_f32, input_grad_f32},
    .bf16 = {stats_bf16, join, apply_bf16, reduce_bf16, input_grad_bf16},
};
