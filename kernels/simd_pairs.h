// Products of pairs of bfloat16 numbers, each pair in a lane of a vector of floats, the first in its lower half.  Only for
// *_simd.c files, as kernels/simd.h.
#ifndef SR_KERNELS_SIMD_PAIRS_H
#define SR_KERNELS_SIMD_PAIRS_H

#include <stdbool.h>

#include "kernels/simd.h"

typedef uint32_t VBits __attribute__((vector_size(sizeof(V))));

// sum + a0 b0 + a1 b1
#if defined(__AVX512BF16__)
V_INLINE V v_dot(V a, V b, V sum) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
#else
V_INLINE V v_low(V pairs) { return (V)((VBits)pairs << 16); }
V_INLINE V v_high(V pairs) { return (V)((VBits)pairs & 0xffff0000u); }
V_INLINE V v_dot(V a, V b, V sum) {
    return v_fma(v_high(a), v_high(b), v_fma(v_low(a), v_low(b), sum));
}
#endif

// The same where `pairs`, sum + a b of floats where not; a constant wherever it is inlined.
V_INLINE V v_step(bool pairs, V a, V b, V sum) {
    return pairs ? v_dot(a, b, sum) : v_fma(a, b, sum);
}

#endif
