// Vector loops of gated_norm, compiled once per instruction set (gated_norm_rows.h).
// Sums over pixels add 128 of them in single precision and then join a sum in double.
#include "kernels/norm/gated_norm_rows.h"

#include "base/compiler.h"
#include "kernels/norm/batch_norm_values.h"

V_INLINE void add_to(float *sum, V v, int m) { store(sum, load(sum, m) + v, m); }

// Returns the normalised channels c .. of the row at element `at`.
V_INLINE V norm_of(SrDtype type, const void *x, int64_t at, SrBatchNormCoefs k, int c, int m) {
    return normalised(v_get(type, x, at + c, m), k, c, m);
}

V_INLINE void pool_lanes(SrDtype type, const void *x, int64_t at, SrBatchNormCoefs k,
                         SrBatchNormActivation f, float *s, int c, int m) {
    add_to(s + c, value_of(f, norm_of(type, x, at, k, c, m)), m);
}

V_INLINE void pool_strip(SrDtype type, const void *x, int64_t rows, int64_t stride, int width,
                         SrBatchNormCoefs k, SrBatchNormActivation f, double *sum) {
    float s[SR_BN_STRIP] = {0};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t end = SR_MIN(rows, first + BLOCK) * stride;
        for (int64_t at = first * stride; at < end; at += stride) {
            int c = 0;
            for (; c + V_LANES <= width; c += V_LANES)
                pool_lanes(type, x, at, k, f, s, c, V_LANES);
            if (c < width)
                pool_lanes(type, x, at, k, f, s, c, width - c);
        }
        flush(sum, s, width);
    }
}

V_INLINE void sums_lanes(SrDtype type, const void *x, const void *dy, int64_t at,
                         SrBatchNormCoefs k, SrBatchNormActivation f, float (*s)[SR_BN_STRIP],
                         int c, int m) {
    V d = v_get(type, x, at + c, m) - load(k.mean + c, m);
    V v = v_fma(d, load(k.a + c, m), load(k.b + c, m)), slope = slope_of(f, v);
    V g = v_get(type, dy, at + c, m), gs = g * slope;
    store(s[SR_GATED_DY_F] + c, v_fma(g, value_of(f, v), load(s[SR_GATED_DY_F] + c, m)), m);
    add_to(s[SR_GATED_DY_SLOPE] + c, gs, m);
    add_to(s[SR_GATED_SLOPE] + c, slope, m);
    store(s[SR_GATED_DY_SLOPE_D] + c, v_fma(gs, d, load(s[SR_GATED_DY_SLOPE_D] + c, m)), m);
    store(s[SR_GATED_SLOPE_D] + c, v_fma(slope, d, load(s[SR_GATED_SLOPE_D] + c, m)), m);
}

V_INLINE void sums_strip(SrDtype type, const void *x, const void *dy, int64_t rows, int64_t stride,
                         int width, SrBatchNormCoefs k, SrBatchNormActivation f,
                         double *const sum[SR_GATED_SUMS]) {
    float s[SR_GATED_SUMS][SR_BN_STRIP] = {{0}};
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t end = SR_MIN(rows, first + BLOCK) * stride;
        for (int64_t at = first * stride; at < end; at += stride) {
            int c = 0;
            for (; c + V_LANES <= width; c += V_LANES)
                sums_lanes(type, x, dy, at, k, f, s, c, V_LANES);
            if (c < width)
                sums_lanes(type, x, dy, at, k, f, s, c, width - c);
        }
        for (int j = 0; j < SR_GATED_SUMS; j++)
            flush(sum[j], s[j], width);
    }
}

V_INLINE void apply_lanes(SrDtype type, void *y, const void *x, int64_t at, SrBatchNormCoefs k,
                          SrBatchNormActivation f, const float *gate, bool stream, int c, int m) {
    V v = value_of(f, norm_of(type, x, at, k, c, m));
    give(type, y, at + c, v * load(gate + c, m), m, stream);
}

V_INLINE void apply_rows(SrDtype type, void *y, const void *x, int64_t rows, int C,
                         SrBatchNormCoefs k, SrBatchNormActivation f, const float *gate,
                         bool stream) {
    for (int64_t at = 0; at < rows * C; at += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            apply_lanes(type, y, x, at, k, f, gate, stream, c, V_LANES);
        if (c < C)
            apply_lanes(type, y, x, at, k, f, gate, false, c, C - c);
    }
    if (stream)
        v_stream_end();
}

// Operands of the gradient of the input, of one image.
typedef struct {
    const void *x, *dy;
    const float *gate, *mean_grad;
} Gated;

V_INLINE void grad_lanes(SrDtype type, void *dx, Gated t, int64_t at, SrBatchNormCoefs k,
                         SrBatchNormActivation f, bool stream, int c, int m) {
    V d = v_get(type, t.x, at + c, m) - load(k.mean + c, m);
    V v = v_fma(d, load(k.a + c, m), load(k.b + c, m));
    V du = v_fma(v_get(type, t.dy, at + c, m), load(t.gate + c, m), load(t.mean_grad + c, m));
    V from_sums = v_fma(d, load(k.k1 + c, m), load(k.k0 + c, m));
    give(type, dx, at + c, du * slope_of(f, v) * load(k.a + c, m) - from_sums, m, stream);
}

V_INLINE void grad_rows(SrDtype type, void *dx, Gated t, int64_t rows, int C, SrBatchNormCoefs k,
                        SrBatchNormActivation f, bool stream) {
    for (int64_t at = 0; at < rows * C; at += C) {
        int c = 0;
        for (; c + V_LANES <= C; c += V_LANES)
            grad_lanes(type, dx, t, at, k, f, stream, c, V_LANES);
        if (c < C)
            grad_lanes(type, dx, t, at, k, f, false, c, C - c);
    }
    if (stream)
        v_stream_end();
}

#define POOL(f) pool_strip(type, x, rows, stride, width, k, f, sum)
#define SUMS(f) sums_strip(type, x, dy, rows, stride, width, k, f, sum)
#define APPLY(f) apply_rows(type, y, x, rows, C, k, f, gate, stream)
#define GRAD(f) grad_rows(type, dx, t, rows, C, k, f, stream)

#define INSTANCE(name, dtype)                                                                     \
    static void pool_##name(const void *x, int64_t rows, int64_t stride, int width,               \
                            SrBatchNormCoefs k, SrBatchNormActivation f, double *sum) {           \
        const SrDtype type = dtype;                                                               \
        WITH_ACTIVATION(f, POOL);                                                                 \
    }                                                                                             \
    static void sums_##name(const void *x, const void *dy, int64_t rows, int64_t stride,          \
                            int width, SrBatchNormCoefs k, SrBatchNormActivation f,               \
                            double *const sum[SR_GATED_SUMS]) {                                   \
        const SrDtype type = dtype;                                                               \
        WITH_ACTIVATION(f, SUMS);                                                                 \
    }                                                                                             \
    static void apply_##name(void *y, const void *x, int64_t rows, int C, SrBatchNormCoefs k,     \
                             SrBatchNormActivation f, const float *gate, bool stream) {           \
        const SrDtype type = dtype;                                                               \
        stream = stream && streams(type, y, C);                                                   \
        WITH_ACTIVATION(f, APPLY);                                                                \
    }                                                                                             \
    static void input_grad_##name(void *dx, const void *x, const void *dy, int64_t rows, int C,   \
                                  SrBatchNormCoefs k, SrBatchNormActivation f, const float *gate, \
                                  const float *mean_grad, bool stream) {                          \
        const SrDtype type = dtype;                                                               \
        Gated t = {x, dy, gate, mean_grad};                                                       \
        stream = stream && streams(type, dx, C);                                                  \
        WITH_ACTIVATION(f, GRAD);                                                                 \
    }
INSTANCE(f32, SR_F32)
INSTANCE(bf16, SR_BF16)

const SrGatedNormTables SR_ISA_SYMBOL(sr__gated_norm_tables) = {
    .f32 = {pool_f32, sums_f32, apply_f32, input_grad_f32},
    .bf16 = {pool_bf16, sums_bf16, apply_bf16, input_grad_bf16},
};
