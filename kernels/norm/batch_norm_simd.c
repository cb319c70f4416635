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

// Defines an activation and its slope on a vector, by the functions of one number.  bfloat16 maps
// use the same functions, since the sums of gradients keep the digits of floats.
#define ON_LANES(name)                       \
    V_INLINE V name##_of(V v) {              \
        float lane[V_LANES];                 \
        v_store(lane, v);                    \
        SR_SIMD                              \
        for (int i = 0; i < V_LANES; i++)    \
            lane[i] = name##_value(lane[i]); \
        return v_load(lane);                 \
    }                                        \
    V_INLINE V name##_slope_of(V v) {        \
        float lane[V_LANES];                 \
        v_store(lane, v);                    \
        SR_SIMD                              \
        for (int i = 0; i < V_LANES; i++)    \
            lane[i] = name##_slope(lane[i]); \
        return v_load(lane);                 \
    }
ON_LANES(relu6)
ON_LANES(silu)
ON_LANES(hardswish)
ON_LANES(gelu)

// Returns f(v).
V_INLINE V activated(SrBatchNormActivation f, V v) {
    switch (f) {
    case SR_BN_LINEAR: return v;
    case SR_BN_RELU: return v_max(v_zero(), v);
    case SR_BN_RELU6: return relu6_of(v);
    case SR_BN_SILU: return silu_of(v);
    case SR_BN_HARDSWISH: return hardswish_of(v);
    case SR_BN_GELU: return gelu_of(v);
    }
    return v;
}

// Returns dy f'(v).
V_INLINE V times_slope(SrBatchNormActivation f, V v, V dy) {
    switch (f) {
    case SR_BN_LINEAR: return dy;
    case SR_BN_RELU: return v_where_positive(v, dy);
    case SR_BN_RELU6: return dy * relu6_slope_of(v);
    case SR_BN_SILU: return dy * silu_slope_of(v);
    case SR_BN_HARDSWISH: return dy * hardswish_slope_of(v);
    case SR_BN_GELU: return dy * gelu_slope_of(v);
    }
    return dy;
}

// Calls `loop`, which ends with the arguments of a constant activation, for each value of f.
#define FOR_EACH_ACTIVATION(f, loop, ...)                            \
    switch (f) {                                                     \
    case SR_BN_LINEAR: loop(__VA_ARGS__, SR_BN_LINEAR); break;       \
    case SR_BN_RELU: loop(__VA_ARGS__, SR_BN_RELU); break;           \
    case SR_BN_RELU6: loop(__VA_ARGS__, SR_BN_RELU6); break;         \
    case SR_BN_SILU: loop(__VA_ARGS__, SR_BN_SILU); break;           \
    case SR_BN_HARDSWISH: loop(__VA_ARGS__, SR_BN_HARDSWISH); break; \
    case SR_BN_GELU: loop(__VA_ARGS__, SR_BN_GELU); break;           \
    }

// Normalises channels c .. of the row that begins at element `at`.
V_INLINE void apply_lanes(SrDtype type, void *y, const void *x, const void *residual, int64_t at,
                          int c, int m, SrBatchNormCoefs k, bool stream, SrBatchNormActivation f) {
    V v = normalised(v_get(type, x, at + c, m), k, c, m);
    if (residual)
        v += v_get(type, residual, at + c, m);
    give(type, y, at + c, activated(f, v), m, stream);
}

// Constant `residual == NULL`, `stream` and `f` make one loop each.
V_INLINE void apply_rows(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                         int C, SrBatchNormCoefs k, bool stream, SrBatchNormActivation f) {
    for (int64_t at = 0; at < rows * C; at += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            apply_lanes(type, y, x, residual, at, c, V_LANES, k, stream, f);
        if (c < C)
            apply_lanes(type, y, x, residual, at, c, C - c, k, false, f);
    }
    if (stream)
        v_stream_end();
}

V_INLINE void apply_kind(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                         int C, SrBatchNormCoefs k, bool stream, SrBatchNormActivation f) {
    if (residual)
        apply_rows(type, y, x, residual, rows, C, k, stream, f);
    else
        apply_rows(type, y, x, NULL, rows, C, k, stream, f);
}

V_INLINE void apply_any(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                        int C, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
    if (stream && streams(type, y, C)) {
        FOR_EACH_ACTIVATION(f, apply_kind, type, y, x, residual, rows, C, k, true)
    } else {
        FOR_EACH_ACTIVATION(f, apply_kind, type, y, x, residual, rows, C, k, false)
    }
}

// Operands and result of the gradients' sums; aux and g_out as in batch_norm_rows.h.
typedef struct {
    const void *x, *aux, *dy;
    void *g_out;
} Tensors;

// Returns g = dy f' at channels c .. of the row that begins at element `at`; x holds its numbers.
V_INLINE V gradient(SrDtype type, Tensors t, V x, int64_t at, int c, int m, SrBatchNormCoefs k,
                    SrBatchNormActivation f) {
    V dy = v_get(type, t.dy, at + c, m);
    if (f == SR_BN_LINEAR)
        return dy;
    if (f == SR_BN_RELU && t.aux)
        return v_where_positive(v_get(type, t.aux, at + c, m), dy);
    V v = normalised(x, k, c, m);
    if (t.aux)
        v += v_get(type, t.aux, at + c, m);
    return times_slope(f, v, dy);
}

V_INLINE void reduce_lanes(SrDtype type, Tensors t, int64_t at, SrBatchNormCoefs k, bool stream,
                           SrBatchNormActivation f, float *s, float *q, int c, int m) {
    V v = v_get(type, t.x, at + c, m);
    V g = gradient(type, t, v, at, c, m, k, f);
    if (t.g_out)
        give(type, t.g_out, at + c, g, m, stream);
    store(s + c, load(s + c, m) + g, m);
    store(q + c, v_fma(g, v - load(k.mean + c, m), load(q + c, m)), m);
}

// Sums channels [from, from + width); the coefficients k begin at channel `from`.
V_INLINE void reduce_strip(SrDtype type, Tensors t, int64_t rows, int64_t stride, int from,
                           int width, SrBatchNormCoefs k, double *sum_g, double *sum_gx,
                           bool stream, SrBatchNormActivation f) {
    float s[SR_BN_STRIP] = {0}, q[SR_BN_STRIP] = {0};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t end = SR_MIN(rows, first + BLOCK) * stride + from;
        for (int64_t at = first * stride + from; at < end; at += stride) {
            int c = 0;
            for (; c + V_LANES <= width; c += V_LANES)
                reduce_lanes(type, t, at, k, stream, f, s, q, c, V_LANES);
            if (c < width)
                reduce_lanes(type, t, at, k, false, f, s, q, c, width - c);
        }
        flush(sum_g + from, s, width);
        flush(sum_gx + from, q, width);
    }
    if (stream)
        v_stream_end();
}

// Sums one strip, with a loop for each set of the caller's constants.  A relu without a residual
// has no g_out.
V_INLINE void reduce_kind(SrDtype type, Tensors t, int64_t rows, int64_t stride, int from,
                          int width, SrBatchNormCoefs k, double *sum_g, double *sum_gx, bool stream,
                          SrBatchNormActivation f) {
    if (f == SR_BN_RELU && !t.aux)
        t.g_out = NULL;
    if (stream && t.g_out)
        reduce_strip(type, t, rows, stride, from, width, k, sum_g, sum_gx, true, f);
    else if (!t.aux)
        reduce_strip(type, (Tensors){t.x, NULL, t.dy, t.g_out}, rows, stride, from, width, k, sum_g,
                     sum_gx, false, f);
    else
        reduce_strip(type, t, rows, stride, from, width, k, sum_g, sum_gx, false, f);
}

V_INLINE void reduce_any(SrDtype type, const void *x, const void *aux, const void *dy, void *g_out,
                         int64_t rows, int64_t stride, int width, SrBatchNormCoefs k,
                         SrBatchNormActivation f, bool stream, double *sum_g, double *sum_gx) {
    Tensors t = {x, aux, dy, g_out};
    stream = g_out && stream && streams(type, g_out, width) && stride % V_LANES == 0;
    for (int c = 0; c < width; c += SR_BN_STRIP) {
        SrBatchNormCoefs at = {k.mean + c, k.a + c, k.b + c, NULL, NULL};
        int strip = SR_MIN(width - c, SR_BN_STRIP);
        FOR_EACH_ACTIVATION(f, reduce_kind, type, t, rows, stride, c, strip, at, sum_g, sum_gx,
                            stream)
    }
}

V_INLINE void input_grad_lanes(SrDtype type, void *dx, Tensors t, int64_t at, int c, int m,
                               SrBatchNormCoefs k, bool stream, SrBatchNormActivation f) {
    V v = v_get(type, t.x, at + c, m);
    V g = gradient(type, t, v, at, c, m, k, f);
    V from_sums = v_fma(v - load(k.mean + c, m), load(k.k1 + c, m), load(k.k0 + c, m));
    give(type, dx, at + c, g * load(k.a + c, m) - from_sums, m, stream);
}

V_INLINE void input_grad_rows(SrDtype type, void *dx, Tensors t, int64_t rows, int C,
                              SrBatchNormCoefs k, bool stream, SrBatchNormActivation f) {
    for (int64_t at = 0; at < rows * C; at += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            input_grad_lanes(type, dx, t, at, c, V_LANES, k, stream, f);
        if (c < C)
            input_grad_lanes(type, dx, t, at, c, C - c, k, false, f);
    }
    if (stream)
        v_stream_end();
}

V_INLINE void input_grad_any(SrDtype type, void *dx, const void *x, const void *aux, const void *dy,
                             int64_t rows, int C, SrBatchNormCoefs k, SrBatchNormActivation f,
                             bool stream) {
    Tensors t = {x, aux, dy, NULL};
    if (f == SR_BN_RELU && aux)
        input_grad_rows(type, dx, t, rows, C, k, false, SR_BN_RELU);
    else if (f == SR_BN_RELU)
        input_grad_rows(type, dx, (Tensors){x, NULL, dy, NULL}, rows, C, k, false, SR_BN_RELU);
    else if (stream && streams(type, dx, C))
        input_grad_rows(type, dx, t, rows, C, k, true, SR_BN_LINEAR);
    else
        input_grad_rows(type, dx, t, rows, C, k, false, SR_BN_LINEAR);
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
