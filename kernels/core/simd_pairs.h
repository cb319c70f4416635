// Products of pairs of bfloat16 numbers.  Each pair lies in a lane of a vector of floats, its first
// number in the lower half.  For the vector files alone, like kernels/core/simd.h.
#ifndef SR_KERNELS_CORE_SIMD_PAIRS_H
#define SR_KERNELS_CORE_SIMD_PAIRS_H

#include <stdbool.h>

#include "kernels/core/simd.h"

// Whether this file is compiled for the level that multiplies pairs, SR_CPU_PAIRS.
#if defined(SR_ISA_avx512bf16) || defined(SR_ISA_neonbf16)
#define V_PAIRS 1
#else
#define V_PAIRS 0
#endif

typedef uint32_t VBits __attribute__((vector_size(sizeof(V))));

// Returns sum + a0 b0 + a1 b1 per lane.
#if defined(__AVX512BF16__)
V_INLINE V v_dot(V a, V b, V sum) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
V_INLINE V v_dot_by(V a, V b, V sum) { return v_dot(a, b, sum); }
#elif defined(SR_ISA_neonbf16)
V_INLINE V v_dot(V a, V b, V sum) { return vbfdotq_f32(sum, (bfloat16x8_t)a, (bfloat16x8_t)b); }
// Returns the 2 x 2 numbers of sum + a b.  Lanes 2 i and 2 i + 1 of a hold four numbers of row i,
// those of b four numbers of column i; lane 2 i + j of sum is in row i and column j.
#define V_MATRICES 1
V_INLINE V v_matrix(V a, V b, V sum) { return vbfmmlaq_f32(sum, (bfloat16x8_t)a, (bfloat16x8_t)b); }
V_INLINE V v_dot_by(V a, V b, V sum) {
    return vbfdotq_laneq_f32(sum, (bfloat16x8_t)b, (bfloat16x8_t)a, 0);
}
#else
V_INLINE V v_low(V pairs) { return (V)((VBits)pairs << 16); }
V_INLINE V v_high(V pairs) { return (V)((VBits)pairs & 0xffff0000u); }
V_INLINE V v_dot(V a, V b, V sum) {
    return v_fma(v_high(a), v_high(b), v_fma(v_low(a), v_low(b), sum));
}
V_INLINE V v_dot_by(V a, V b, V sum) {
    return v_fma_by(v_high(a), v_high(b), v_fma_by(v_low(a), v_low(b), sum));
}
#endif

// Returns v_dot where `pairs`, else sum + a b of floats; `pairs` is a constant wherever this is
// inlined.
V_INLINE V v_step(bool pairs, V a, V b, V sum) {
    return pairs ? v_dot(a, b, sum) : v_fma(a, b, sum);
}
// Returns the same for the one number or pair of a = v_scalar(x).
V_INLINE V v_step_by(bool pairs, V a, V b, V sum) {
    return pairs ? v_dot_by(a, b, sum) : v_fma_by(a, b, sum);
}

// Returns lanes whose halves are a and b, rounded.
V_INLINE V v_pair(V a, V b) {
#if defined(__AVX512BF16__)
    static const uint16_t zip[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(b, a);
    return (V)_mm512_permutexvar_epi16(_mm512_loadu_si512(zip), both);
#elif defined(SR_ISA_neonbf16)
    return (V)vzip1q_u16((uint16x8_t)vcvtq_low_bf16_f32(a), (uint16x8_t)vcvtq_low_bf16_f32(b));
#else
    return (V)((VBits)v_rounded(SR_BF16, a) >> 16 | (VBits)v_rounded(SR_BF16, b));
#endif
}

#if V_PAIRS
// Returns the pairs of n numbers of two rows.
V_INLINE V v_zip_n(const SrBf16 *a, const SrBf16 *b, int n) {
    return (V)((VBits)v_load_bf16_n(a, n) >> 16 | (VBits)v_load_bf16_n(b, n));
}

// Stores the pairs of 2 * V_LANES numbers of two rows.
V_INLINE void v_store_zip(float *to, const SrBf16 *a, const SrBf16 *b) {
#if V_LANES == 16
    static const uint16_t order[4 * V_LANES] = {
        0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
        11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53,
        22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63};
    __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);
    __m512i low = _mm512_permutex2var_epi16(x, _mm512_loadu_si512(order), y);
    __m512i high = _mm512_permutex2var_epi16(x, _mm512_loadu_si512(order + 2 * V_LANES), y);
    v_store(to, (V)low);
    v_store(to + V_LANES, (V)high);
#else
    uint16x8_t x = vld1q_u16(a), y = vld1q_u16(b);
    v_store(to, (V)vzip1q_u16(x, y));
    v_store(to + V_LANES, (V)vzip2q_u16(x, y));
#endif
}
#endif

#endif
