// Activations over contiguous floats: plain loops that compilers vectorise; pointwise.h says who uses
// them.  Slopes at the corners are PyTorch's.
#include "kernels/pointwise.h"
#include "kernels/simd.h"
#include "kernels/vexp.h"

// 1 / (1 + exp(-x)) without overflow: exp(-x) is infinite below -88, and 1 / infinity is 0.
V_INLINE float logistic(float x) { return 1.0f / (1.0f + sr__expf(-x)); }

static void sigmoid(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = logistic(x[i]);
}

static void sigmoid_grad(float *dx, const float *x, const float *dy, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float s = logistic(x[i]);
        dx[i] = dy[i] * s * (1.0f - s);
    }
}

static void silu(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * logistic(x[i]);
}

static void silu_grad(float *dx, const float *x, const float *dy, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float s = logistic(x[i]);
        dx[i] = dy[i] * s * (1.0f + x[i] * (1.0f - s));
    }
}

// x kept to [low, high]; a NaN stays one.
V_INLINE float clamp(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

static void hardsigmoid(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = clamp(x[i] + 3.0f, 0, 6) / 6.0f;
}

static void hardsigmoid_grad(float *dx, const float *x, const float *dy, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        dx[i] = x[i] > -3.0f && x[i] < 3.0f ? dy[i] / 6.0f : 0;
}

static void hardswish(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * clamp(x[i] + 3.0f, 0, 6) / 6.0f;
}

static void hardswish_grad(float *dx, const float *x, const float *dy, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float slope = x[i] / 3.0f + 0.5f;
        slope = x[i] < -3.0f ? 0 : slope;
        dx[i] = dy[i] * (x[i] > 3.0f ? 1.0f : slope);
    }
}

static void relu6(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = clamp(x[i], 0, 6);
}

static void relu6_grad(float *dx, const float *x, const float *dy, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        dx[i] = x[i] > 0 && x[i] < 6.0f ? dy[i] : 0;
}

const SrPointwiseTable SR_ISA_SYMBOL(sr__pointwise_table) = {
    .sigmoid = {sigmoid, sigmoid_grad},
    .silu = {silu, silu_grad},
    .hardsigmoid = {hardsigmoid, hardsigmoid_grad},
    .hardswish = {hardswish, hardswish_grad},
    .relu6 = {relu6, relu6_grad},
};
