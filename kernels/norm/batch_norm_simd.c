// Vector loops of batch_norm, compiled once per instruction set (batch_norm_rows.h).
//
// Sums over rows add 128 rows in single precision and then join a sum in double.  Forward and
// backward compute v by the same expression, so that the activation's slope is taken at the same
// number.  Every loop is
// inlined once for floats and once for bfloat16 (`type`); `at` counts elements.
#include "kernels/norm/batch_norm_rows.h"

#include <string.h>

#include "base/compiler.h"
#include "kernels/activation/pointwise_values.h"
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

// Values or slopes of an activation over a strip, v (n) in place.  These are functions, not inlined
// code, because they are long and every loop below would hold its own copy.
typedef void (*Strip)(float *v, int n);

#define STRIP(name)                              \
    static void name##_values(float *v, int n) { \
        SR_SIMD                                  \
        for (int i = 0; i < n; i++)              \
            v[i] = name##_value(v[i]);           \
    }                                            \
    static void name##_slopes(float *v, int n) { \
        SR_SIMD                                  \
        for (int i = 0; i < n; i++)              \
            v[i] = name##_slope(v[i]);           \
    }
STRIP(relu6)
STRIP(silu)
STRIP(hardswish)
STRIP(gelu)

static const Strip values[] = {[SR_BN_RELU6] = relu6_values,
                               [SR_BN_SILU] = silu_values,
                               [SR_BN_HARDSWISH] = hardswish_values,
                               [SR_BN_GELU] = gelu_values};
static const Strip slopes[] = {[SR_BN_RELU6] = relu6_slopes,
                               [SR_BN_SILU] = silu_slopes,
                               [SR_BN_HARDSWISH] = hardswish_slopes,
                               [SR_BN_GELU] = gelu_slopes};

// Normalises channels c .. of the row that begins at element `at`.
V_INLINE V sum_lanes(SrDtype type, const void *x, const void *residual, int64_t at, int c, int m,
                     SrBatchNormCoefs k) {
    V v = normalised(v_get(type, x, at + c, m), k, c, m);
    if (residual)
        v += v_get(type, residual, at + c, m);
    return v;
}

// Writes sum_lanes of `width` channels, the first at element `at` and at the beginning of k, to v.
V_INLINE void sum_strip(SrDtype type, float *v, const void *x, const void *residual, int64_t at,
                        int width, SrBatchNormCoefs k) {
    int c = 0;
    for (; c + V_LANES <= width; c += V_LANES)
        v_store(v + c, sum_lanes(type, x, residual, at, c, V_LANES, k));
    if (c < width)
        v_store_n(v + c, sum_lanes(type, x, residual, at, c, width - c, k), width - c);
}

// Returns the coefficients of channels from `c` on.
V_INLINE SrBatchNormCoefs coefs_from(SrBatchNormCoefs k, int c) {
    return (SrBatchNormCoefs){k.mean + c, k.a + c, k.b + c, NULL, NULL};
}

// apply with an activation other than relu.
V_INLINE void apply_strips(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                           int C, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
    float v[SR_BN_STRIP];
    for (int64_t at = 0; at < rows * C; at += C)
        for (int from = 0; from < C; from += SR_BN_STRIP) {
            int width = SR_MIN(C - from, SR_BN_STRIP), c = 0;
            sum_strip(type, v, x, residual, at + from, width, coefs_from(k, from));
            values[f](v, width);
            for (; c + V_LANES <= width; c += V_LANES)
                give(type, y, at + from + c, v_load(v + c), V_LANES, stream);
            if (c < width)
                v_put(type, y, at + from + c, v_load_n(v + c, width - c), width - c);
        }
    if (stream)
        v_stream_end();
}

V_INLINE void apply_lanes(SrDtype type, void *y, const void *x, const void *residual, int64_t at,
                          int c, int m, SrBatchNormCoefs k, bool relu, bool stream) {
    V v = sum_lanes(type, x, residual, at, c, m, k);
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
                         int C, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
    if (f > SR_BN_RELU)
        apply_strips(type, y, x, residual, rows, C, k, f, stream);
    else if (residual && f == SR_BN_RELU)
        apply_rows(type, y, x, residual, rows, C, k, true, stream);
    else if (residual)
        apply_rows(type, y, x, residual, rows, C, k, false, stream);
    else
        apply_rows(type, y, x, NULL, rows, C, k, f == SR_BN_RELU, stream);
}

V_INLINE void apply_any(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                        int C, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
    if (stream && streams(type, y, C))
        apply_kind(type, y, x, residual, rows, C, k, f, true);
    else
        apply_kind(type, y, x, residual, rows, C, k, f, false);
}

// Operands and result of the gradients' sums; aux and g_out as in batch_norm_rows.h.
typedef struct {
    const void *x, *aux, *dy;
    void *g_out;
} Tensors;

// Returns dy where the relu let its input pass, else 0: channel c of the row at element `at`.
V_INLINE V masked(SrDtype type, V dy, V x, const void *y, int64_t at, SrBatchNormCoefs k,
                  SrBatchNormActivation f, int c, int m) {
    if (f == SR_BN_RELU && y)
        return v_where_positive(v_get(type, y, at + c, m), dy);
    if (f == SR_BN_RELU)
        return v_where_positive(normalised(x, k, c, m), dy);
    return dy;
}

// Keeps and sums the gradients g of channels c .. of the row at element `at`, whose input is v.
V_INLINE void add_lanes(SrDtype type, Tensors t, int64_t at, SrBatchNormCoefs k, V v, V g,
                        bool stream, float *s, float *q, int c, int m) {
    if (t.g_out)
        give(type, t.g_out, at + c, g, m, stream);
    store(s + c, load(s + c, m) + g, m);
    store(q + c, v_fma(g, v - load(k.mean + c, m), load(q + c, m)), m);
}

V_INLINE void reduce_lanes(SrDtype type, Tensors t, int64_t at, SrBatchNormCoefs k,
                           SrBatchNormActivation f, bool stream, float *s, float *q, int c, int m) {
    V v = v_get(type, t.x, at + c, m);
    V g = masked(type, v_get(type, t.dy, at + c, m), v, t.aux, at, k, f, c, m);
    add_lanes(type, t, at, k, v, g, stream, s, q, c, m);
}

// reduce_lanes with an activation other than relu: `slope` holds f'.
V_INLINE void reduce_slope(SrDtype type, Tensors t, int64_t at, SrBatchNormCoefs k,
                           const float *slope, bool stream, float *s, float *q, int c, int m) {
    V g = v_get(type, t.dy, at + c, m) * load(slope + c, m);
    add_lanes(type, t, at, k, v_get(type, t.x, at + c, m), g, stream, s, q, c, m);
}

// Sums one row of a strip.
V_INLINE void reduce_row(SrDtype type, Tensors t, int64_t at, int width, SrBatchNormCoefs k,
                         SrBatchNormActivation f, bool stream, float *s, float *q) {
    float slope[SR_BN_STRIP];
    int c = 0;
    if (f > SR_BN_RELU) {
        sum_strip(type, slope, t.x, t.aux, at, width, k);
        slopes[f](slope, width);
        for (; c + V_LANES <= width; c += V_LANES)
            reduce_slope(type, t, at, k, slope, stream, s, q, c, V_LANES);
        if (c < width)
            reduce_slope(type, t, at, k, slope, false, s, q, c, width - c);
        return;
    }
    for (; c + V_LANES <= width; c += V_LANES)
        reduce_lanes(type, t, at, k, f, stream, s, q, c, V_LANES);
    if (c < width)
        reduce_lanes(type, t, at, k, f, false, s, q, c, width - c);
}

// Sums channels [from, from + width); the coefficients k begin at channel `from`.
V_INLINE void reduce_strip(SrDtype type, Tensors t, int64_t rows, int64_t stride, int from,
                           int width, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream,
                           double *sum_g, double *sum_gx) {
    float s[SR_BN_STRIP] = {0}, q[SR_BN_STRIP] = {0};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t end = SR_MIN(rows, first + BLOCK) * stride + from;
        for (int64_t at = first * stride + from; at < end; at += stride)
            reduce_row(type, t, at, width, k, f, stream, s, q);
        flush(sum_g + from, s, width);
        flush(sum_gx + from, q, width);
    }
    if (stream)
        v_stream_end();
}

// Sums one strip, with a loop for each set of the caller's constants.
V_INLINE void reduce_kind(SrDtype type, Tensors t, int64_t rows, int64_t stride, int from,
                          int width, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream,
                          double *sum_g, double *sum_gx) {
    Tensors no_out = {t.x, NULL, t.dy, NULL}; // relu without a residual keeps no g
    if (f > SR_BN_RELU)
        reduce_strip(type, t, rows, stride, from, width, k, f, stream, sum_g, sum_gx);
    else if (f == SR_BN_RELU && !t.aux)
        reduce_strip(type, no_out, rows, stride, from, width, k, SR_BN_RELU, false, sum_g, sum_gx);
    else if (f == SR_BN_RELU && stream)
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_RELU, true, sum_g, sum_gx);
    else if (f == SR_BN_RELU)
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_RELU, false, sum_g, sum_gx);
    else
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_LINEAR, false, sum_g, sum_gx);
}

V_INLINE void reduce_any(SrDtype type, const void *x, const void *aux, const void *dy, void *g_out,
                         int64_t rows, int64_t stride, int width, SrBatchNormCoefs k,
                         SrBatchNormActivation f, bool stream, double *sum_g, double *sum_gx) {
    Tensors t = {x, aux, dy, g_out};
    stream = g_out && stream && streams(type, g_out, width) && stride % V_LANES == 0;
    for (int c = 0; c < width; c += SR_BN_STRIP) {
        reduce_kind(type, t, rows, stride, c, SR_MIN(width - c, SR_BN_STRIP), coefs_from(k, c), f,
                    stream, sum_g, sum_gx);
    }
}

V_INLINE void input_grad_lanes(SrDtype type, void *dx, Tensors t, int64_t at, int c, int m,
                               SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
    V v = v_get(type, t.x, at + c, m);
    V g = masked(type, v_get(type, t.dy, at + c, m), v, t.aux, at, k, f, c, m);
    V from_sums = v_fma(v - load(k.mean + c, m), load(k.k1 + c, m), load(k.k0 + c, m));
    give(type, dx, at + c, g * load(k.a + c, m) - from_sums, m, stream);
}

V_INLINE void input_grad_rows(SrDtype type, void *dx, Tensors t, int64_t rows, int C,
                              SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
    for (int64_t at = 0; at < rows * C; at += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            input_grad_lanes(type, dx, t, at, c, V_LANES, k, f, stream);
        if (c < C)
            input_grad_lanes(type, dx, t, at, c, C - c, k, f, false);
    }
    if (stream)
        v_stream_end();
}

V_INLINE void input_grad_any(SrDtype type, void *dx, const void *x, const void *aux, const void *dy,
                             int64_t rows, int C, SrBatchNormCoefs k, SrBatchNormActivation f,
                             bool stream) {
    Tensors t = {x, aux, dy, NULL};
    if (f == SR_BN_RELU && aux)
        input_grad_rows(type, dx, t, rows, C, k, SR_BN_RELU, false);
    else if (f == SR_BN_RELU)
        input_grad_rows(type, dx, (Tensors){x, NULL, dy, NULL}, rows, C, k, SR_BN_RELU, false);
    else if (stream && streams(type, dx, C))
        input_grad_rows(type, dx, t, rows, C, k, SR_BN_LINEAR, true);
    else
        input_grad_rows(type, dx, t, rows, C, k, SR_BN_LINEAR, false);
}

// Both types, as functions.
#define INSTANCE(name, type)                                                                    \
    static void stats_##name(const void *x, int64_t rows, int64_t stride, int width,            \
                             const void *shift, double *sum, double *square) {                  \
        stats_any(type, x, rows, stride, width, shift, sum, square);                            \
    }                                                                                           \
    static void apply_##name(void *y, const void *x, const void *residual, int64_t rows, int C, \
                             SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {        \
        apply_any(type, y, x, residual, rows, C, k, f, stream);                                 \
    }                                                                                           \
    static void reduce_##name(const void *x, const void *aux, const void *dy, void *g_out,      \
                              int64_t rows, int64_t stride, int width, SrBatchNormCoefs k,      \
                              SrBatchNormActivation f, bool stream, double *sum_g,              \
                              double *sum_gx) {                                                 \
        reduce_any(type, x, aux, dy, g_out, rows, stride, width, k, f, stream, sum_g, sum_gx);  \
    }                                                                                           \
    static void input_grad_##name(void *dx, const void *x, const void *aux, const void *dy,     \
                                  int64_t rows, int C, SrBatchNormCoefs k,                      \
                                  SrBatchNormActivation f, bool stream) {                       \
        input_grad_any(type, dx, x, aux, dy, rows, C, k, f, stream);                            \
    }
INSTANCE(f32, SR_F32)
INSTANCE(bf16, SR_BF16)

const SrBatchNormTables SR_ISA_SYMBOL(sr__batch_norm_tables) = {
    .f32 = {stats_f32, join, apply_f32, reduce_f32, input_grad_f32},
    .bf16 = {stats_bf16, join, apply_bf16, reduce_bf16, input_grad_bf16},
};
