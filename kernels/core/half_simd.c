// Conversions of half precision, compiled once per instruction set (half.h).
//
// Loops are plain C that compilers vectorise.  They use integers and one subtraction of normal
// floats, so that a thread that flushes denormals gets the same bits (after Giesen's half_to_float,
// https://gist.github.com/rygorous/2156668).
#include "kernels/core/half.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "kernels/core/simd.h"

V_INLINE float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

V_INLINE uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

V_INLINE float to_float_one(uint16_t h) {
    uint32_t bits = (uint32_t)(h & 0x7fff) << 13, exponent = bits & 0x0f800000;
    uint32_t normal =
        bits + ((uint32_t)112 << 23) + (exponent == 0x0f800000 ? (uint32_t)112 << 23 : 0);
    float small = float_of(bits + ((uint32_t)113 << 23)) - float_of((uint32_t)113 << 23);
    uint32_t value = exponent ? normal : bits_of(small);
    return float_of(value | (uint32_t)(h & 0x8000) << 16);
}

static void to_float(float *y, const uint16_t *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = to_float_one(x[i]);
}

// Values below 2^-14 are steps of 2^-24: adding 0.5 rounds them as the processor rounds sums.
V_INLINE uint16_t from_float_one(float f) {
    uint32_t bits = bits_of(f), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x477fe000)
        size = 0x477fe000; // 65504
    uint32_t odd = size >> 13 & 1;
    uint32_t normal = (size - ((uint32_t)112 << 23) + 0xfff + odd) >> 13;
    uint32_t small = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
    return (uint16_t)(sign | (size < (uint32_t)113 << 23 ? small : normal));
}

static void from_float(uint16_t *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] = from_float_one(x[i]);
}

// Converts V_LANES halves.  The processors' own conversions ignore the flushing of denormals.
V_INLINE V v_load_half(const uint16_t *x) {
#if defined(__AVX512F__)
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)x));
#elif defined(__F16C__)
    return _mm256_cvtph_ps(_mm_loadu_si128((const void *)x));
#elif defined(SR_ISA_neon)
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)));
#else
    float y[V_LANES];
    to_float(y, x, V_LANES);
    return v_load(y);
#endif
}

// Sixteen partial sums at every level, so that the order of additions does not depend on it.  The
// next rows are fetched early: a search reads each row of a large file once.
static void products(float *y, const uint16_t *x, const float *q, int64_t rows, int d) {
    enum { LANES = 16, VECTORS = LANES / V_LANES, AHEAD = 2048, LINE = 32 }; // in halves
    for (int64_t r = 0; r < rows; r++, x += d) {
        V part[VECTORS];
        float sum[LANES];
        int i = 0;
        V_FOR (v, VECTORS)
            part[v] = v_set1(0);
        for (; i + LANES <= d; i += LANES) {
            if (i % LINE == 0)
                __builtin_prefetch(x + i + AHEAD);
            V_FOR (v, VECTORS)
                part[v] =
                    v_fma(v_load_half(x + i + v * V_LANES), v_load(q + i + v * V_LANES), part[v]);
        }
        V_FOR (v, VECTORS)
            v_store(sum + v * V_LANES, part[v]);
        for (int k = 0; i + k < d; k++)
            sum[k] += to_float_one(x[i + k]) * q[i + k];
        for (int half = LANES / 2; half > 0; half /= 2)
            for (int k = 0; k < half; k++)
                sum[k] += sum[k + half];
        y[r] = sum[0];
    }
}

const SrHalfKernels SR_ISA_SYMBOL(sr__half_kernels) = {to_float, from_float, products};
