// Vector loops of activations over contiguous numbers: plain loops that compilers vectorise
// (pointwise.h).
#include "base/compiler.h"
#include "kernels/activation/pointwise.h"
#include "kernels/activation/pointwise_values.h"
#include "kernels/core/simd.h"

// Returns how many of n numbers lie in vector v.
V_INLINE int lanes_left(int n, int v) {
    n -= v * V_LANES;
    return n < 0 ? 0 : n > V_LANES ? V_LANES : n;
}

enum { STRIP = 4 * V_LANES }; // bfloat16 numbers that become floats at a time

// Converts bfloat16 numbers to floats (n), and back; the rest of the strip is zero.
V_INLINE void widen(float *to, const SrBf16 *from, int n) {
    V_FOR (v, STRIP / V_LANES)
        v_store(to + v * V_LANES, v_get(SR_BF16, from, v * V_LANES, lanes_left(n, v)));
}
V_INLINE void narrow(SrBf16 *to, const float *from, int n) {
    V_FOR (v, STRIP / V_LANES)
        v_put(SR_BF16, to, v * V_LANES, v_load(from + v * V_LANES), lanes_left(n, v));
}

// Defines the loops of one activation over floats and over bfloat16 numbers.
#define LOOPS(name)                                                                             \
    V_INLINE void name##_floats(float *y, const float *x, int64_t n) {                          \
        SR_SIMD                                                                                 \
        for (int64_t i = 0; i < n; i++)                                                         \
            y[i] = name##_value(x[i]);                                                          \
    }                                                                                           \
    static void name##_halves(SrBf16 *y, const SrBf16 *x, int64_t n) {                          \
        float strip[STRIP];                                                                     \
        for (int64_t i = 0; i < n; i += STRIP) {                                                \
            int m = (int)SR_MIN(STRIP, n - i);                                                  \
            widen(strip, x + i, m);                                                             \
            SR_SIMD                                                                             \
            for (int k = 0; k < STRIP; k++)                                                     \
                strip[k] = name##_value(strip[k]);                                              \
            narrow(y + i, strip, m);                                                            \
        }                                                                                       \
    }                                                                                           \
    static void name(SrDtype type, void *y, const void *x, int64_t n) {                         \
        type == SR_BF16 ? name##_halves(y, x, n) : name##_floats(y, x, n);                      \
    }                                                                                           \
    V_INLINE void name##_grad_floats(float *dx, const float *x, const float *dy, int64_t n) {   \
        SR_SIMD                                                                                 \
        for (int64_t i = 0; i < n; i++)                                                         \
            dx[i] = dy[i] * name##_slope(x[i]);                                                 \
    }                                                                                           \
    static void name##_grad_halves(SrBf16 *dx, const SrBf16 *x, const SrBf16 *dy, int64_t n) {  \
        float in[STRIP], slope[STRIP];                                                          \
        for (int64_t i = 0; i < n; i += STRIP) {                                                \
            int m = (int)SR_MIN(STRIP, n - i);                                                  \
            widen(in, x + i, m);                                                                \
            widen(slope, dy + i, m);                                                            \
            SR_SIMD                                                                             \
            for (int k = 0; k < STRIP; k++)                                                     \
                slope[k] *= name##_slope(in[k]);                                                \
            narrow(dx + i, slope, m);                                                           \
        }                                                                                       \
    }                                                                                           \
    static void name##_grad(SrDtype type, void *dx, const void *x, const void *dy, int64_t n) { \
        type == SR_BF16 ? name##_grad_halves(dx, x, dy, n) : name##_grad_floats(dx, x, dy, n);  \
    }

// gelu's loops are of vectors, whose products and sums are fused.
V_INLINE void gelu_loop(SrDtype type, void *y, const void *x, int64_t n) {
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        v_put(type, y, i, v_gelu(v_get(type, x, i, m)), m);
    }
}
V_INLINE void gelu_grad_loop(SrDtype type, void *dx, const void *x, const void *dy, int64_t n) {
    for (int64_t i = 0; i < n; i += V_LANES) {
        int m = (int)SR_MIN(V_LANES, n - i);
        v_put(type, dx, i, v_get(type, dy, i, m) * v_gelu_slope(v_get(type, x, i, m)), m);
    }
}
static void gelu(SrDtype type, void *y, const void *x, int64_t n) {
    type == SR_BF16 ? gelu_loop(SR_BF16, y, x, n) : gelu_loop(SR_F32, y, x, n);
}
static void gelu_grad(SrDtype type, void *dx, const void *x, const void *dy, int64_t n) {
    type == SR_BF16 ? gelu_grad_loop(SR_BF16, dx, x, dy, n) : gelu_grad_loop(SR_F32, dx, x, dy, n);
}

LOOPS(quick_gelu)
LOOPS(tanh_gelu)
LOOPS(sigmoid)
LOOPS(silu)
LOOPS(hardsigmoid)
LOOPS(hardswish)
LOOPS(relu6)

const SrPointwiseTable SR_ISA_SYMBOL(sr__pointwise_table) = {
    .gelu = {gelu, gelu_grad},
    .quick_gelu = {quick_gelu, quick_gelu_grad},
    .tanh_gelu = {tanh_gelu, tanh_gelu_grad},
    .sigmoid = {sigmoid, sigmoid_grad},
    .silu = {silu, silu_grad},
    .hardsigmoid = {hardsigmoid, hardsigmoid_grad},
    .hardswish = {hardswish, hardswish_grad},
    .relu6 = {relu6, relu6_grad},
};
