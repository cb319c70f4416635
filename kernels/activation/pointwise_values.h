// Values and slopes of activations at one number, as branch-free float code that compilers turn
// into vectors.  Slopes at the corners are PyTorch's.  Only for *_simd.c files.
#ifndef SR_KERNELS_ACTIVATION_POINTWISE_VALUES_H
#define SR_KERNELS_ACTIVATION_POINTWISE_VALUES_H

#include <stdint.h>
#include <string.h>

#include "kernels/core/simd.h"
#include "kernels/core/vexp.h"

// 1 / (1 + exp(-x)) without overflow: exp(-x) is infinite below -88, and 1 / infinity is 0.
V_INLINE float sigmoid_value(float x) { return 1.0f / (1.0f + sr__expf(-x)); }
V_INLINE float sigmoid_slope(float x) {
    float s = sigmoid_value(x);
    return s * (1.0f - s);
}

// Returns 1 / (1 + exp(-x)) for x >= -88 in half of sigmoid_value's instructions: exp is a normal
// number there, and beyond 87 the result is 1.  A NaN becomes a number; silu multiplies it by x.
V_INLINE float logistic(float x) {
    return 1.0f / (1.0f + sr__expf_normal(x < 87.0f ? -x : -87.0f));
}

// Below -88 silu is zero to single precision, and so is its slope.
V_INLINE float silu_value(float x) {
    x = x < -88.0f ? -88.0f : x;
    return x * logistic(x);
}
V_INLINE float silu_slope(float x) {
    x = x < -88.0f ? -88.0f : x;
    float s = logistic(x);
    return s * (1.0f + x * (1.0f - s));
}

#if defined(V_LANES) && V_LANES == 16
// logistic of vectors for x >= -87, to 4e-7 where |x| < 8: the power of two has a relative error of
// 2e-7, and rounding its argument y costs y 4e-8.  The reciprocal starts from an estimate of 14
// bits, and one step of Newton's method doubles them; a division would take as long as the
// exponential.  A NaN stays.
V_INLINE V v_logistic(V x) {
    V y = x * v_set1(-1.44269504088896f); // at most 126
    V d = v_exp2(y) + v_set1(1), r = _mm512_rcp14_ps(d);
    return v_fma(v_fma(-d, r, v_set1(1)), r, r);
}
V_INLINE V v_silu(V x) {
    x = v_max(v_set1(-87), x);
    return x * v_logistic(x);
}
V_INLINE V v_silu_slope(V x) {
    x = v_max(v_set1(-87), x);
    V s = v_logistic(x);
    return s * v_fma(x, v_set1(1) - s, v_set1(1));
}
#endif

// x sigmoid(1.702 x) is silu(1.702 x) / 1.702.
V_INLINE float quick_gelu_value(float x) { return silu_value(1.702f * x) * (1.0f / 1.702f); }
V_INLINE float quick_gelu_slope(float x) { return silu_slope(1.702f * x); }

// Returns twice the argument of tanh_gelu's tanh, at least -88.
V_INLINE float tanh_gelu_argument(float x) {
    float z = 1.5957691216057308f * (x + 0.044715f * x * x * x); // 2 sqrt(2 / pi)
    return z < -88.0f ? -88.0f : z;
}
V_INLINE float tanh_gelu_value(float x) {
    float z = tanh_gelu_argument(x);
    return z > -88.0f ? x * logistic(z) : x * 0.0f;
}
V_INLINE float tanh_gelu_slope(float x) {
    float z = tanh_gelu_argument(x), s = logistic(z);
    float slope = s + x * s * (1.0f - s) * 1.5957691216057308f * (1.0f + 0.134145f * x * x);
    slope = z > -88.0f ? slope : 0.0f;
    return z > 88.0f ? 1.0f : slope;
}

// Clamps x to [low, high]; a NaN stays a NaN.
V_INLINE float clamp(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

V_INLINE float hardsigmoid_value(float x) { return clamp(x + 3.0f, 0, 6) / 6.0f; }
V_INLINE float hardsigmoid_slope(float x) { return x > -3.0f && x < 3.0f ? 1.0f / 6.0f : 0; }

V_INLINE float hardswish_value(float x) { return x * (clamp(x + 3.0f, 0, 6) * (1.0f / 6)); }
V_INLINE float hardswish_slope(float x) {
    float slope = x * (1.0f / 3) + 0.5f;
    slope = x < -3.0f ? 0 : slope;
    return x > 3.0f ? 1.0f : slope;
}

V_INLINE float relu_value(float x) { return x < 0 ? 0 : x; } // a NaN stays a NaN
V_INLINE float relu_slope(float x) { return x > 0 ? 1.0f : 0; }

V_INLINE float relu6_value(float x) { return clamp(x, 0, 6); }
V_INLINE float relu6_slope(float x) { return x > 0 && x < 6.0f ? 1.0f : 0; }

// Returns Phi(x), the distribution function of the normal law: erfc(z) / 2 at z = |x| / sqrt(2),
// mirrored for x > 0.  erfc(z) exp(z^2) / t is smooth in t = 1 / (1 + z / 2).  The coefficients are
// our Chebyshev fit of it over 0 <= z <= 10 in powers of 2t - 1, relative error 2e-7 in single
// precision.  *gauss gets exp(-x^2 / 2).
V_INLINE float normal_cdf(float x, float *gauss) {
    float z = (x < 0 ? -x : x) * 0.70710678118654752f;
    float t = 1.0f / (1.0f + 0.5f * z), s = 2.0f * t - 1.0f;
    float p = -0.000227805634f;
    p = p * s + 0.000374366849f;
    p = p * s + 0.00148658385f;
    p = p * s - 0.00321585219f;
    p = p * s - 0.0107407477f;
    p = p * s + 0.0182168335f;
    p = p * s + 0.139734671f;
    p = p * s + 0.343580544f;
    p = p * s + 0.510791361f;
    *gauss = sr__expf(-0.5f * x * x);
    float tail = 0.5f * t * p * *gauss;
    return x < 0 ? tail : 1.0f - tail;
}

V_INLINE float gelu_value(float x) {
    float gauss;
    return x * normal_cdf(x, &gauss);
}
V_INLINE float gelu_slope(float x) {
    float gauss, cdf = normal_cdf(x, &gauss);
    return cdf + x * 0.3989422804014327f * gauss; // 1 / sqrt(2 pi)
}

// Phi(x) for numbers that are stored as bfloat16, whose last place is 4e-3 of them, in half the
// time: Mills' ratio times the density.  The ratio is a polynomial of degree 7 in |x| with our
// least largest relative error over 0 .. 5.5, 7e-4.  exp(-x^2 / 2) is a power of two with a
// polynomial of degree 3 (8e-5).
V_INLINE float coarse_normal_cdf(float x, float *gauss) {
    float z = x < 0 ? -x : x;
    z = z > 5.5f ? 5.5f : z;
    float y = z * z * -0.72134752f; // log2 of the density's shape, no less than -22
    float n = y + 12582912.0f;      // adding 1.5 * 2^23 rounds to the nearest integer
    int32_t bits;
    memcpy(&bits, &n, sizeof bits);
    float f = y - (n - 12582912.0f);
    float e = 0.05516905f;
    e = e * f + 0.24260732f;
    e = e * f + 0.69326105f;
    e = e * f + 0.99992834f;
    *gauss = e * sr__exp2i(bits - 0x4B400000);
    float p = -1.74125526e-05f;
    p = p * z + 0.000425112987f;
    p = p * z - 0.00440139836f;
    p = p * z + 0.0254693795f;
    p = p * z - 0.0922245979f;
    p = p * z + 0.224840268f;
    p = p * z - 0.392346591f;
    p = p * z + 0.499678195f;
    float tail = p * *gauss;
    return x < 0 ? tail : 1.0f - tail;
}

// Beyond 5.5 the tail is 2e-8, negligible compared with 1 and nearly zero by itself.
V_INLINE float coarse_gelu_value(float x) {
    float gauss, cdf = coarse_normal_cdf(x, &gauss);
    return x < -5.5f ? -0.0f : x * cdf;
}
V_INLINE float coarse_gelu_slope(float x) {
    float gauss, cdf = coarse_normal_cdf(x, &gauss);
    float slope = cdf + x * 0.3989422804014327f * gauss; // 1 / sqrt(2 pi)
    slope = x < -5.5f ? 0.0f : slope;
    return x > 5.5f ? 1.0f : slope;
}

#endif
