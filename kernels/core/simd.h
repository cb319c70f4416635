// One vector of floats, in three widths.  The vector files are written once against this header and
// compiled for every instruction set.  Include it in files named *_simd.c only.
//
// Usage:  V a = v_load(x), b = a * v_set1(2.0f) + v_load_n(y, n);  v_store_n(z, b, n);
//         const SrFooKernels SR_ISA_SYMBOL(sr__foo_kernels) = {...};
//         SR_CPU_PICK(machine, sr__foo_kernels)->...  in the callers (kernels/machine.h)
//
// + - * / and unary minus work on V lane by lane (but not inside ?:, where gcc sees two types).
// The _n forms touch only the first n lanes in memory, 0 <= n <= V_LANES; lanes past n read as
// zero.  Addresses need no alignment.
//
// The _bf16 forms read and write bfloat16 in memory and floats in the register.  A loop that serves
// both element types is written once with v_get and v_put, where `type` is a constant wherever it
// is inlined.
#ifndef SR_KERNELS_CORE_SIMD_H
#define SR_KERNELS_CORE_SIMD_H

#include <stdint.h>
#include <string.h>

#include "base/bf16.h"
#include "base/tensor.h"

#define V_INLINE static inline __attribute__((always_inline))
#define SR_ISA_PASTE2(name, isa) name##_##isa
#define SR_ISA_PASTE(name, isa) SR_ISA_PASTE2(name, isa)
#define SR_ISA_SYMBOL(name) SR_ISA_PASTE(name, SR_ISA)

// Unrolls a loop whose count the compiler knows and whose arrays must become registers.
#if defined(__clang__)
#define V_UNROLL _Pragma("clang loop unroll(full)")
#else
#define V_UNROLL _Pragma("GCC unroll 36")
#endif
#define V_FOR(i, n) V_UNROLL for (int i = 0; i < (n); i++)

// clang-format off: one intrinsic a line
#if defined(SR_ISA_avx512) || defined(SR_ISA_avx512bf16)
#include <immintrin.h>
#define V_LANES 16
#define V_REGISTERS 32
typedef __m512 V;

V_INLINE __mmask16 v_mask_(int n) { return (__mmask16)((1u << n) - 1); }
V_INLINE V v_load(const float *p) { return _mm512_loadu_ps(p); }
V_INLINE V v_load_n(const float *p, int n) { return _mm512_maskz_loadu_ps(v_mask_(n), p); }
V_INLINE void v_store(float *p, V a) { _mm512_storeu_ps(p, a); }
V_INLINE void v_store_n(float *p, V a, int n) { _mm512_mask_storeu_ps(p, v_mask_(n), a); }
V_INLINE void v_stream(float *p, V a) { _mm512_stream_ps(p, a); }
V_INLINE void v_stream_end(void) { _mm_sfence(); }
V_INLINE V v_set1(float a) { return _mm512_set1_ps(a); }
V_INLINE V v_fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
V_INLINE V v_max(V a, V b) { return _mm512_max_ps(a, b); }
V_INLINE V v_min(V a, V b) { return _mm512_min_ps(a, b); }
V_INLINE V v_sqrt(V a) { return _mm512_sqrt_ps(a); }
V_INLINE V v_pick(V a, const int32_t *from, int plus) {
    __m512i index = _mm512_add_epi32(_mm512_loadu_si512(from), _mm512_set1_epi32(plus));
    return _mm512_permutexvar_ps(index, a);
}
V_INLINE V v_if_less(V x, V y, V a, V b) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), b, a);
}
V_INLINE V v_where_positive(V x, V a) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), a);
}
V_INLINE V v_widen_(__m256i h) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
V_INLINE __m256i v_narrow_(V a) {
#if defined(__AVX512BF16__)
    return (__m256i)_mm512_cvtneps_pbh(a);
#else
    __m512i bits = _mm512_castps_si512(a), high = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
    __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(_mm512_srli_epi32(up, 16), nan, quiet));
#endif
}
V_INLINE V v_load_bf16(const SrBf16 *p) { return v_widen_(_mm256_loadu_si256((const __m256i *)p)); }
V_INLINE V v_load_bf16_n(const SrBf16 *p, int n) {
    return v_widen_(_mm256_maskz_loadu_epi16(v_mask_(n), p));
}
V_INLINE void v_store_bf16(SrBf16 *p, V a) { _mm256_storeu_si256((__m256i *)p, v_narrow_(a)); }
V_INLINE void v_store_bf16_n(SrBf16 *p, V a, int n) {
    _mm256_mask_storeu_epi16(p, v_mask_(n), v_narrow_(a));
}
V_INLINE void v_stream_bf16(SrBf16 *p, V a) { _mm256_stream_si256((__m256i *)p, v_narrow_(a)); }

#elif defined(SR_ISA_avx2)
#include <immintrin.h>
#define V_LANES 8
#define V_REGISTERS 16
typedef __m256 V;

V_INLINE __m256i v_mask_(int n) {
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(ones + 8 - n));
}
V_INLINE V v_load(const float *p) { return _mm256_loadu_ps(p); }
V_INLINE V v_load_n(const float *p, int n) { return _mm256_maskload_ps(p, v_mask_(n)); }
V_INLINE void v_store(float *p, V a) { _mm256_storeu_ps(p, a); }
V_INLINE void v_store_n(float *p, V a, int n) { _mm256_maskstore_ps(p, v_mask_(n), a); }
V_INLINE void v_stream(float *p, V a) { _mm256_stream_ps(p, a); }
V_INLINE void v_stream_end(void) { _mm_sfence(); }
V_INLINE V v_set1(float a) { return _mm256_set1_ps(a); }
V_INLINE V v_fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
V_INLINE V v_max(V a, V b) { return _mm256_max_ps(a, b); }
V_INLINE V v_min(V a, V b) { return _mm256_min_ps(a, b); }
V_INLINE V v_sqrt(V a) { return _mm256_sqrt_ps(a); }
V_INLINE V v_pick(V a, const int32_t *from, int plus) {
    __m256i index = _mm256_loadu_si256((const __m256i *)from);
    return _mm256_permutevar8x32_ps(a, _mm256_add_epi32(index, _mm256_set1_epi32(plus)));
}
V_INLINE V v_if_less(V x, V y, V a, V b) { return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_LT_OQ)); }
V_INLINE V v_where_positive(V x, V a) {
    return _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ), a);
}
V_INLINE V v_load_bf16(const SrBf16 *p) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
V_INLINE V v_load_bf16_n(const SrBf16 *p, int n) {
    SrBf16 all[V_LANES] = {0};
    memcpy(all, p, (size_t)n * sizeof *p);
    return v_load_bf16(all);
}
V_INLINE __m128i v_narrow_(V a) {
    __m256i bits = _mm256_castps_si256(a), high = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    __m256i h = _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), quiet, nan);
    h = _mm256_permute4x64_epi64(_mm256_packus_epi32(h, h),
                                 0x08); // the two low quarters side by side
    return _mm256_castsi256_si128(h);
}
V_INLINE void v_store_bf16(SrBf16 *p, V a) { _mm_storeu_si128((__m128i *)p, v_narrow_(a)); }
V_INLINE void v_stream_bf16(SrBf16 *p, V a) { _mm_stream_si128((__m128i *)p, v_narrow_(a)); }
V_INLINE void v_store_bf16_n(SrBf16 *p, V a, int n) {
    SrBf16 all[V_LANES];
    v_store_bf16(all, a);
    memcpy(p, all, (size_t)n * sizeof *p);
}

#elif defined(SR_ISA_neon) || defined(SR_ISA_neonbf16)
#include <arm_neon.h>
#define V_LANES 4
#define V_REGISTERS 32
typedef float32x4_t V;

V_INLINE V v_load(const float *p) { return vld1q_f32(p); }
V_INLINE void v_store(float *p, V a) { vst1q_f32(p, a); }
V_INLINE V v_load_n(const float *p, int n) {
    if (n == V_LANES)
        return vld1q_f32(p);
    V a = vdupq_n_f32(0);
    if (n & 2)
        a = vcombine_f32(vld1_f32(p), vdup_n_f32(0));
    if (n == 3)
        return vld1q_lane_f32(p + 2, a, 2);
    return n == 1 ? vld1q_lane_f32(p, a, 0) : a;
}
V_INLINE void v_store_n(float *p, V a, int n) {
    if (n == V_LANES) {
        vst1q_f32(p, a);
        return;
    }
    if (n & 2)
        vst1_f32(p, vget_low_f32(a));
    if (n == 3)
        vst1q_lane_f32(p + 2, a, 2);
    if (n == 1)
        vst1q_lane_f32(p, a, 0);
}
V_INLINE void v_stream(float *p, V a) { vst1q_f32(p, a); }
V_INLINE void v_stream_end(void) {}
V_INLINE V v_set1(float a) { return vdupq_n_f32(a); }
V_INLINE V v_scalar(float a) {
#if defined(__clang__)
    return vdupq_n_f32(a);
#else
    V lanes;
    __asm__("" : "=w"(lanes) : "0"(a)); // a register of one float is lane 0 of its vector
    return lanes;
#endif
}
V_INLINE V v_fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
V_INLINE V v_fma_by(V a, V b, V c) { return vfmaq_laneq_f32(c, b, a, 0); }
V_INLINE V v_max(V a, V b) { return vbslq_f32(vcgtq_f32(a, b), a, b); } // fmax keeps NaNs
V_INLINE V v_min(V a, V b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
V_INLINE V v_sqrt(V a) { return vsqrtq_f32(a); }
V_INLINE V v_pick(V a, const int32_t *from, int plus) {
    uint32x4_t lane = vreinterpretq_u32_s32(vaddq_s32(vld1q_s32(from), vdupq_n_s32(plus)));
    lane = vandq_u32(lane, vdupq_n_u32(3));
    lane = vmlaq_u32(vdupq_n_u32(0x03020100), lane, vdupq_n_u32(0x04040404)); // numbers of bytes
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(a), vreinterpretq_u8_u32(lane)));
}
V_INLINE V v_if_less(V x, V y, V a, V b) { return vbslq_f32(vcltq_f32(x, y), a, b); }
V_INLINE V v_where_positive(V x, V a) {
    return vreinterpretq_f32_u32(vandq_u32(vcgtzq_f32(x), vreinterpretq_u32_f32(a)));
}
V_INLINE V v_widen_(uint16x4_t h) { return vreinterpretq_f32_u32(vshll_n_u16(h, 16)); }
V_INLINE uint16x4_t v_narrow_(V a) {
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    return vreinterpret_u16_bf16(vcvt_bf16_f32(a));
#else
    uint32x4_t bits = vreinterpretq_u32_f32(a), high = vshrq_n_u32(bits, 16);
    uint32x4_t odd = vandq_u32(high, vdupq_n_u32(1));
    uint32x4_t up = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7FFF)), odd);
    uint32x4_t quiet = vorrq_u32(high, vdupq_n_u32(0x40));
    return vmovn_u32(vbslq_u32(vceqq_f32(a, a), vshrq_n_u32(up, 16), quiet));
#endif
}
V_INLINE uint16x4_t v_load_halves_(const SrBf16 *p, int n) {
    if (n == V_LANES)
        return vld1_u16(p);
    uint16x4_t h = vdup_n_u16(0);
    if (n & 2)
        h = vreinterpret_u16_u32(vset_lane_u32((uint32_t)p[0] | (uint32_t)p[1] << 16, vdup_n_u32(0), 0));
    if (n == 3)
        return vld1_lane_u16(p + 2, h, 2);
    return n == 1 ? vld1_lane_u16(p, h, 0) : h;
}
V_INLINE V v_load_bf16(const SrBf16 *p) { return v_widen_(vld1_u16(p)); }
V_INLINE V v_load_bf16_n(const SrBf16 *p, int n) { return v_widen_(v_load_halves_(p, n)); }
V_INLINE void v_store_bf16(SrBf16 *p, V a) { vst1_u16(p, v_narrow_(a)); }
V_INLINE void v_store_bf16_n(SrBf16 *p, V a, int n) {
    uint16x4_t h = v_narrow_(a);
    if (n == V_LANES) {
        vst1_u16(p, h);
        return;
    }
    if (n > 0)
        vst1_lane_u16(p, h, 0);
    if (n > 1)
        vst1_lane_u16(p + 1, h, 1);
    if (n > 2)
        vst1_lane_u16(p + 2, h, 2);
}
V_INLINE void v_stream_bf16(SrBf16 *p, V a) { v_store_bf16(p, a); }

#else // any processor: four floats of the compiler's own vector type
#include <math.h>
#define V_LANES 4
#define V_REGISTERS 16
typedef float V __attribute__((vector_size(16)));

V_INLINE V v_load_n(const float *p, int n) {
    V a = {0};
    memcpy(&a, p, (size_t)n * sizeof(float));
    return a;
}
V_INLINE void v_store_n(float *p, V a, int n) { memcpy(p, &a, (size_t)n * sizeof(float)); }
V_INLINE V v_load(const float *p) { return v_load_n(p, V_LANES); }
V_INLINE void v_store(float *p, V a) { v_store_n(p, a, V_LANES); }
V_INLINE void v_stream(float *p, V a) { v_store(p, a); }
V_INLINE void v_stream_end(void) {}
V_INLINE V v_set1(float a) { return (V){a, a, a, a}; }
V_INLINE V v_fma(V a, V b, V c) { return a * b + c; }
V_INLINE V v_max(V a, V b) {
    for (int i = 0; i < V_LANES; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
}
V_INLINE V v_min(V a, V b) {
    for (int i = 0; i < V_LANES; i++)
        b[i] = a[i] < b[i] ? a[i] : b[i];
    return b;
}
V_INLINE V v_sqrt(V a) { return (V){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])}; }
V_INLINE V v_pick(V a, const int32_t *from, int plus) {
    return (V){a[(from[0] + plus) & 3], a[(from[1] + plus) & 3], a[(from[2] + plus) & 3],
               a[(from[3] + plus) & 3]};
}
V_INLINE V v_if_less(V x, V y, V a, V b) {
    for (int i = 0; i < V_LANES; i++) b[i] = x[i] < y[i] ? a[i] : b[i];
    return b;
}
V_INLINE V v_where_positive(V x, V a) {
    for (int i = 0; i < V_LANES; i++)
        a[i] = x[i] > 0 ? a[i] : 0;
    return a;
}
V_INLINE V v_load_bf16_n(const SrBf16 *p, int n) {
    V a;
    for (int i = 0; i < V_LANES; i++)
        a[i] = i < n ? sr_bf16_float(p[i]) : 0;
    return a;
}
V_INLINE void v_store_bf16_n(SrBf16 *p, V a, int n) {
    for (int i = 0; i < n; i++)
        p[i] = sr_bf16_round(a[i]);
}
V_INLINE V v_load_bf16(const SrBf16 *p) { return v_load_bf16_n(p, V_LANES); }
V_INLINE void v_store_bf16(SrBf16 *p, V a) { v_store_bf16_n(p, a, V_LANES); }
V_INLINE void v_stream_bf16(SrBf16 *p, V a) { v_store_bf16(p, a); }
#endif

// clang-format on

#if !defined(SR_ISA_neon) && !defined(SR_ISA_neonbf16)
V_INLINE V v_scalar(float a) { return v_set1(a); }
V_INLINE V v_fma_by(V a, V b, V c) { return v_fma(a, b, c); }
#endif

// Operations of all instruction sets:
//   v_fma(a, b, c)         a * b + c, one rounding where the hardware has it
//   v_fma_by(a, b, c)      the same for the one number of a = v_scalar(x): NEON multiplies a vector
//                          by a lane of another, which saves the instruction that copies x
//   v_max(a, b), v_min     a > b ? a : b, so b where either is NaN: v_max(v_zero(), x) is a ReLU
//                          that passes NaN on
//   v_where_positive(x, a) a where x > 0, else 0
//   v_pick(a, from, plus)  lane j: lane from[j] + plus of a, modulo V_LANES
//   v_stream(p, a), _bf16  stores a whole vector to an aligned p, bypassing the caches: a line that
//                          is not cached need not be read before it is overwritten.
//                          v_stream_end() must follow before others read it
V_INLINE V v_zero(void) { return v_set1(0.0f); }

// Read and write element i and the n - 1 after it, in memory of either type.
V_INLINE V v_get(SrDtype type, const void *p, int64_t i, int n) {
    if (type == SR_BF16)
        return n == V_LANES ? v_load_bf16((const SrBf16 *)p + i)
                            : v_load_bf16_n((const SrBf16 *)p + i, n);
    return n == V_LANES ? v_load((const float *)p + i) : v_load_n((const float *)p + i, n);
}
V_INLINE void v_put(SrDtype type, void *p, int64_t i, V a, int n) {
    if (type == SR_BF16 && n == V_LANES)
        v_store_bf16((SrBf16 *)p + i, a);
    else if (type == SR_BF16)
        v_store_bf16_n((SrBf16 *)p + i, a, n);
    else if (n == V_LANES)
        v_store((float *)p + i, a);
    else
        v_store_n((float *)p + i, a, n);
}

// Rounds floats as v_put leaves them in memory.
V_INLINE V v_rounded(SrDtype type, V a) {
    if (type != SR_BF16)
        return a;
#if V_REGISTERS == 32
    return v_widen_(v_narrow_(a));
#else
    SrBf16 lane[V_LANES];
    v_store_bf16(lane, a);
    return v_load_bf16(lane);
#endif
}

// Sum of the lanes, always in the same order: half of them to the other half, and again.
V_INLINE float v_sum(V a) {
#if V_LANES == 16
    return _mm512_reduce_add_ps(a);
#else
    float lane[V_LANES];
    memcpy(lane, &a, sizeof lane);
    for (int half = V_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
#endif
}

// Adds the lanes after widening each to double, in the same order.
V_INLINE double v_sum_double(V a) {
#if V_LANES == 16
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    return _mm512_reduce_add_pd(low + _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)));
#else
    float lane[V_LANES];
    double sum = 0;
    memcpy(lane, &a, sizeof lane);
    for (int i = 0; i < V_LANES; i++)
        sum += (double)lane[i];
    return sum;
#endif
}

#if V_LANES == 16
#define V_ZIP_LOW_ 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define V_ZIP_HIGH_ 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif V_LANES == 8
#define V_ZIP_LOW_ 0, 8, 1, 9, 2, 10, 3, 11
#define V_ZIP_HIGH_ 4, 12, 5, 13, 6, 14, 7, 15
#else
#define V_ZIP_LOW_ 0, 4, 1, 5
#define V_ZIP_HIGH_ 2, 6, 3, 7
#endif

// Transposes the V_LANES x V_LANES matrix whose rows are r[]: log2(V_LANES) perfect shuffles.
V_INLINE void v_transpose(V r[V_LANES]) {
    V t[V_LANES];
    for (int step = 1; step < V_LANES; step *= 2) {
        V_FOR (i, V_LANES / 2) {
            t[2 * i] = __builtin_shufflevector(r[i], r[i + V_LANES / 2], V_ZIP_LOW_);
            t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + V_LANES / 2], V_ZIP_HIGH_);
        }
        V_FOR (i, V_LANES)
            r[i] = t[i];
    }
}

#endif
