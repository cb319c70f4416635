// Values and slopes of activations, of vectors (v_...) or at one number as branch-free float code
// that compilers turn into vectors.  Slopes at the corners are PyTorch's.  Only for *_simd.c files.
#ifndef SR_KERNELS_ACTIVATION_POINTWISE_VALUES_H
#define SR_KERNELS_ACTIVATION_POINTWISE_VALUES_H

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

// Returns a / b.  AVX-512 estimates 1 / b to 14 bits, and one step of Newton's method doubles them;
// its division would take as long as an exponential.
V_INLINE V v_ratio(V a, V b) {
#if V_LANES == 16
    V r = _mm512_rcp14_ps(b);
    return a * v_fma(v_fma(-b, r, v_set1(1)), r, r);
#else
    return a / b;
#endif
}

#if V_LANES == 16
// logistic of vectors for x >= -87, to 4e-7 where |x| < 8: the power of two has a relative error of
// 2e-7, and rounding its argument y costs y 4e-8.  A NaN stays.
V_INLINE V v_logistic(V x) {
    V y = x * v_set1(-1.44269504088896f); // at most 126
    return v_ratio(v_set1(1), v_exp2(y) + v_set1(1));
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

// Returns x P(t) / Q(t), where t is the lesser of x^2 and `most`, and P and Q have np and nq
// coefficients from the highest power down.
V_INLINE V v_odd_ratio(V x, float most, const float *p, int np, const float *q, int nq) {
    V t = v_min(v_set1(most), x * x), above = v_set1(p[0]), below = v_set1(q[0]);
    V_FOR (i, np - 1)
        above = v_fma(above, t, v_set1(p[i + 1]));
    V_FOR (i, nq - 1)
        below = v_fma(below, t, v_set1(q[i + 1]));
    return v_ratio(x * above, below);
}

// gelu(x) = x Phi(x), where Phi is the distribution function of the normal law.  Phi - 1/2 is odd
// and bounded, so a ratio of polynomials comes near it everywhere.  The coefficients here and below
// are ours and make the largest error least: 2e-8, and 2e-7 after rounding.  Beyond 5.3 Phi is 0
// or 1 to single precision.  A NaN stays a NaN.
V_INLINE V v_gelu(V x) {
    static const float p[] = {1.21102725e-10f, -2.25220784e-08f, 3.03806246e-06f, 1.48170351e-04f,
                              4.36490169e-03f, 3.36967297e-02f,  3.98942202e-01f};
    static const float q[] = {5.52792153e-05f, 1.70006417e-03f, 2.77989786e-02f, 2.51130462e-01f,
                              1.0f};
    V phi = v_odd_ratio(x, 28.09f, p, 7, q, 5) + v_set1(0.5f);
    return x * v_min(v_set1(1), v_max(v_zero(), phi));
}

// Phi(x) + x exp(-x^2 / 2) / sqrt(2 pi) in the same way.  Beyond 5.8 it is 0 or 1.
V_INLINE V v_gelu_slope(V x) {
    static const float p[] = {-1.89450677e-11f, 3.39839556e-09f, -1.59677157e-07f, 3.26721856e-05f,
                              -1.84041855e-04f, 1.46087529e-02f, -4.37150821e-02f, 7.97884703e-01f};
    static const float q[] = {4.95761788e-06f, 1.41900615e-04f, 2.83932709e-03f,
                              3.61538865e-02f, 2.78546274e-01f, 1.0f};
    V slope = v_odd_ratio(x, 33.64f, p, 8, q, 6) + v_set1(0.5f);
    slope = v_if_less(x, v_set1(-5.8f), v_zero(), slope);
    return v_if_less(v_set1(5.8f), x, v_set1(1), slope);
}

#endif
