// Products of pairs of bfloat16 numbers.  Each pair lies in a lane of a vector of floats, its first
// number in the lower half.  For the vector files alone, like kernels/core/simd.h.
#ifndef SR_KERNELS_CORE_SIMD_PAIRS_H
#define SR_KERNELS_CORE_SIMD_PAIRS_H

#include <stdbool.h>

#include "kernels/core/simd.h"

typedef uint32_t VBits __attribute__((vector_size(sizeof(V))));

// Returns sum + a0 b0 + a1 b1 per lane.
#if defined(__AVX512BF16__)
V_INLINE V v_dot(V a, V b, V sum) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
#else
V_INLINE V v_low(V pairs) { return (V)((VBits)pairs << 16); }
V_INLINE V v_high(V pairs) { return (V)((VBits)pairs & 0xffff0000u); }
V_INLINE V v_dot(V a, V b, V sum) {
    return v_fma(v_high(a), v_high(b), v_fma(v_low(a), v_low(b), sum));
}
#endif

// Returns v_fma_pairs where `pairs`, else sum + a b of floats; `pairs` is a constant wherever this
// is inlined.
V_INLINE V v_step(bool pairs, V a, V b, V sum) {
    return pairs ? v_dot(a, b, sum) : v_fma(a, b, sum);
}

// Returns lanes whose halves are a and b, rounded.
V_INLINE V v_pair(V a, V b) {
#if defined(__AVX512BF16__)
    static const uint16_t zip[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(b, a);
    return (V)_mm512_permutexvar_epi16(_mm512_loadu_si512(zip), both);
#else
    return (V)((VBits)v_rounded(SR_BF16, a) >> 16 | (VBits)v_rounded(SR_BF16, b));
#endif
}

#endif
