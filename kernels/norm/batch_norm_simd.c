// Vector loops of batch_norm, compiled once per instruction set (batch_norm_rows.h).
//
// Sums over rows add 128 rows in single precision and then join a sum in double.  Forward and
// backward compute v by the same expression, so that the activation's slope is taken at the same
// number.  Every loop is
// inlined once for floats and once for bfloat16 (`type`); `at` counts elements.
#include "kernels/norm/batch_norm_rows.h"

#include "base/compiler.h"
#include "kernels/core/simd.h"
#include "kernels/norm/batch_norm_values.h"

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

V_INLINE void apply_lanes(SrDtype type, void *y, const void *x, const void *residual, int64_t at,
                          int c, int m, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
    V v = sum_lanes(type, x, residual, at, c, m, k);
    give(type, y, at + c, f == SR_BN_LINEAR ? v : value_of(f, v), m, stream);
}

// Constant `residual == NULL`, f and `stream` make one loop each.
V_INLINE void apply_rows(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                         int C, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
    for (int64_t at = 0; at < rows * C; at += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            apply_lanes(type, y, x, residual, at, c, V_LANES, k, f, stream);
        if (c < C)
            apply_lanes(type, y, x, residual, at, c, C - c, k, f, false);
    }
    if (stream)
        v_stream_end();
}

V_INLINE void apply_kind(SrDtype type, void *y, const void *x, const void *residual, int64_t rows,
                         int C, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream) {
#define APPLY(f) apply_rows(type, y, x, residual, rows, C, k, f, stream)
#define APPLY_ALONE(f) apply_rows(type, y, x, NULL, rows, C, k, f, stream)
    if (residual && f == SR_BN_LINEAR)
        APPLY(SR_BN_LINEAR);
    else if (residual)
        WITH_ACTIVATION(f, APPLY);
    else if (f == SR_BN_LINEAR)
        APPLY_ALONE(SR_BN_LINEAR);
    else
        WITH_ACTIVATION(f, APPLY_ALONE);
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

// Returns g = dy f' at channels c .. of the row at element `at`; aux as in batch_norm_rows.h.
V_INLINE V slope_times(SrDtype type, V dy, V x, const void *aux, int64_t at, SrBatchNormCoefs k,
                       SrBatchNormActivation f, int c, int m) {
    if (f == SR_BN_LINEAR)
        return dy;
    if (f == SR_BN_RELU)
        return v_where_positive(aux ? v_get(type, aux, at + c, m) : normalised(x, k, c, m), dy);
    V v = normalised(x, k, c, m);
    if (aux)
        v += v_get(type, aux, at + c, m);
    return dy * slope_of(f, v);
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
    V g = slope_times(type, v_get(type, t.dy, at + c, m), v, t.aux, at, k, f, c, m);
    add_lanes(type, t, at, k, v, g, stream, s, q, c, m);
}

// Sums one row of a strip.
V_INLINE void reduce_row(SrDtype type, Tensors t, int64_t at, int width, SrBatchNormCoefs k,
                         SrBatchNormActivation f, bool stream, float *s, float *q) {
    int c = 0;
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
#define REDUCE(f) reduce_strip(type, t, rows, stride, from, width, k, f, stream, sum_g, sum_gx)
    Tensors no_out = {t.x, NULL, t.dy, NULL}; // relu without a residual keeps no g
    if (f == SR_BN_LINEAR)
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_LINEAR, false, sum_g, sum_gx);
    else if (f == SR_BN_RELU && !t.aux)
        reduce_strip(type, no_out, rows, stride, from, width, k, SR_BN_RELU, false, sum_g, sum_gx);
    else if (f == SR_BN_RELU && stream)
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_RELU, true, sum_g, sum_gx);
    else if (f == SR_BN_RELU)
        reduce_strip(type, t, rows, stride, from, width, k, SR_BN_RELU, false, sum_g, sum_gx);
    else
        WITH_ACTIVATION(f, REDUCE);
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
    V g = slope_times(type, v_get(type, t.dy, at + c, m), v, t.aux, at, k, f, c, m);
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
#define INPUT_GRAD(f) input_grad_rows(type, dx, t, rows, C, k, f, stream)
    stream = stream && streams(type, dx, C);
    if (f > SR_BN_RELU)
        WITH_ACTIVATION(f, INPUT_GRAD);
    else if (f == SR_BN_RELU && aux)
        input_grad_rows(type, dx, t, rows, C, k, SR_BN_RELU, false);
    else if (f == SR_BN_RELU)
        input_grad_rows(type, dx, (Tensors){x, NULL, dy, NULL}, rows, C, k, SR_BN_RELU, false);
    else if (stream)
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
