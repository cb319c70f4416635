// exp and powers of two as branch-free float code that compilers turn into vectors, only for files
// named *_simd.c.  After kernels/core/simd.h there is also v_exp where vectors are long.
#ifndef SR_KERNELS_CORE_VEXP_H
#define SR_KERNELS_CORE_VEXP_H

#include <stdint.h>
#include <string.h>

// Returns 2^n for -126 <= n <= 127, made from the exponent's bits.
static inline float sr__exp2i(int32_t n) {
    uint32_t bits = ((uint32_t)n + 127) << 23; // unsigned: a NaN upstream gives any n
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

// Splits exp(x), -104 <= x <= 89, into 2^n and the number returned, between 0.7 and 1.42.
// Cody-Waite reduction x = n ln 2 + r, then the Taylor polynomial of degree 7 (remainder below 6e-9
// on |r| <= ln 2 / 2).
static inline float sr__exp_split(float x, int32_t *n) {
    float nearest = x * 1.44269504088896f + 12582912.0f; // adding 1.5 * 2^23 rounds to an integer
    int32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    *n = bits - 0x4B400000;
    nearest -= 12582912.0f;
    float r = x - nearest * 0.693145751953125f; // ln 2 in two pieces; the first ends with 12 zeros
    r -= nearest * 1.42860682030941723212e-6f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    return p * r + 1.0f;
}

// Returns exp(x) to 2 units in the last place; 0 below -104, infinity above 88.73, denormals in
// between if the processor keeps them: 2^n is multiplied in two factors so that they come out
// right.
static inline float sr__expf(float x) {
    float t = x > -104.0f ? x : -104.0f; // so that a NaN makes no absurd integer below
    int32_t n;
    float p = sr__exp_split(t > 89.0f ? 89.0f : t, &n);
    int32_t half = n >> 1;
    float y = p * sr__exp2i(half) * sr__exp2i(n - half);
    y = x < -104.0f ? 0.0f : y;
    return x != x ? x : y;
}

// Returns exp(x) for -87 <= x <= 88 to 2 units in the last place: sr__expf where no denormal, no
// infinity and no NaN can occur.
static inline float sr__expf_normal(float x) {
    int32_t n;
    float p = sr__exp_split(x, &n);
    return p * sr__exp2i(n);
}

#if defined(V_LANES) && V_LANES == 16
// sr__expf in fewer instructions: AVX-512 rounds, and multiplies by a power of two, in one
// instruction each.  The maximum and minimum of AVX-512 give their second operand where one is a
// NaN.
V_INLINE V v_exp(V x) {
    x = v_min(v_set1(89), v_max(v_set1(-104), x));
    V n = _mm512_roundscale_ps(x * v_set1(1.44269504088896f), _MM_FROUND_TO_NEAREST_INT);
    V r = v_fma(n, v_set1(-0.693145751953125f), x);
    r = v_fma(n, v_set1(-1.42860682030941723212e-6f), r);
    V p = v_set1(1.0f / 5040);
    p = v_fma(p, r, v_set1(1.0f / 720));
    p = v_fma(p, r, v_set1(1.0f / 120));
    p = v_fma(p, r, v_set1(1.0f / 24));
    p = v_fma(p, r, v_set1(1.0f / 6));
    p = v_fma(p, r, v_set1(0.5f));
    p = v_fma(p, r, v_set1(1));
    p = v_fma(p, r, v_set1(1));
    return _mm512_scalef_ps(p, n);
}

// Returns 2^x with relative error 2e-7, for x that was rounded before: the polynomial of degree 5
// whose largest relative error on |r| <= 1/2 is least.
V_INLINE V v_exp2(V x) {
    x = v_max(v_set1(-160), x);
    V n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT), r = x - n;
    V p = v_set1(0.001327647178191553f);
    p = v_fma(p, r, v_set1(0.009675541332785711f));
    p = v_fma(p, r, v_set1(0.055507132741498245f));
    p = v_fma(p, r, v_set1(0.2402211972388154f));
    p = v_fma(p, r, v_set1(0.6931469670643606f));
    p = v_fma(p, r, v_set1(1.0000000716546729f));
    return _mm512_scalef_ps(p, n);
}
#endif

#endif
