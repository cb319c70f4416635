// Tile instructions of AMX and the few vector steps around them.  Files whose names end in "amx.c"
// include this header and are compiled twice: for processors with the instructions (SR_ISA_amx),
// and with plain C in their place (SR_ISA_emulated), which every processor can run.  Both give the
// same bits (tests/kernels/test_conv_tiles.c).  Plain C tests the kernels of the other, many times
// slower.  Apart from tests/kernels/test_tiles.c, no other file may include this header.
//
// A tile is 16 rows of 64 bytes; there are eight, numbered 0 to 7 by literals.
//
//   T_ZERO(t), T_LOAD(t, p, distance), T_STORE(t, p, distance)   rows `distance` bytes apart
//   T_PRODUCT(sum, a, b)   sum (16, 16 floats) += a (16, 32 numbers) * b; numbers are bfloat16.
//                          Row i of b holds the numbers 2 i and 2 i + 1 of each of 16 columns
//
// A W is 32 floats, an H 32 bfloat16 numbers.  Results depend on MXCSR for subnormal numbers alone,
// which products and conversions to bfloat16 always take for zero.
#ifndef SR_KERNELS_CORE_TILES_H
#define SR_KERNELS_CORE_TILES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bf16.h"
#include "base/compiler.h"

#define T_INLINE static inline __attribute__((always_inline))
#define T_PASTE2(name, isa) name##_##isa
#define T_PASTE(name, isa) T_PASTE2(name, isa)
#define T_SYMBOL(name) T_PASTE(name, SR_ISA)

// clang-format off
#if defined(SR_ISA_amx)
#include <immintrin.h>

// The compilers' own intrinsics do not tell that they touch memory.
#define T_ZERO(t) __asm__ volatile("tilezero %%tmm" #t ::)
#define T_LOAD(t, p, distance) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(p), "r"((int64_t)(distance)) : "memory")
#define T_STORE(t, p, distance) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(p), "r"((int64_t)(distance)) : "memory")
#define T_PRODUCT(sum, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #sum ::)

// Configures all eight tiles at full size, before a piece of work on any thread; tiles_release must
// follow it.  It takes 56 ns, and the system then has less to save in between.
T_INLINE void tiles_configure(void) {
    struct { uint8_t palette, start, zero[14]; uint16_t row_bytes[16]; uint8_t rows[16]; } c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = 16;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(c));
}
T_INLINE void tiles_release(void) { __asm__ volatile("tilerelease" ::: "memory"); }

typedef struct { __m512 low, high; } W;
typedef struct { __m512i v; } H;

T_INLINE __mmask16 low_mask_(int n) { return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1); }
T_INLINE __mmask16 high_mask_(int n) { return (__mmask16)(n <= 16 ? 0 : n >= 32 ? 0xffff : (1u << (n - 16)) - 1); }
T_INLINE __mmask32 mask_(int n) { return (__mmask32)(n >= 32 ? 0xffffffff : (1u << n) - 1); }

T_INLINE W w_zero(void) { return (W){_mm512_setzero_ps(), _mm512_setzero_ps()}; }
T_INLINE W w_set1(float v) { return (W){_mm512_set1_ps(v), _mm512_set1_ps(v)}; }
T_INLINE W w_load(const float *p) { return (W){_mm512_loadu_ps(p), _mm512_loadu_ps(p + 16)}; }
T_INLINE W w_load_n(const float *p, int n) {
    return (W){_mm512_maskz_loadu_ps(low_mask_(n), p), _mm512_maskz_loadu_ps(high_mask_(n), p + 16)};
}
T_INLINE void w_store(float *p, W a) { _mm512_storeu_ps(p, a.low); _mm512_storeu_ps(p + 16, a.high); }
T_INLINE void w_store_n(float *p, W a, int n) {
    _mm512_mask_storeu_ps(p, low_mask_(n), a.low);
    _mm512_mask_storeu_ps(p + 16, high_mask_(n), a.high);
}
T_INLINE void w_stream(float *p, W a) { _mm512_stream_ps(p, a.low); _mm512_stream_ps(p + 16, a.high); }
T_INLINE W w_add(W a, W b) { return (W){_mm512_add_ps(a.low, b.low), _mm512_add_ps(a.high, b.high)}; }
T_INLINE W w_sub(W a, W b) { return (W){_mm512_sub_ps(a.low, b.low), _mm512_sub_ps(a.high, b.high)}; }
T_INLINE W w_fma(W a, W b, W c) { return (W){_mm512_fmadd_ps(a.low, b.low, c.low), _mm512_fmadd_ps(a.high, b.high, c.high)}; }
T_INLINE W w_relu(W a) { // a NaN stays a NaN
    return (W){_mm512_max_ps(_mm512_setzero_ps(), a.low), _mm512_max_ps(_mm512_setzero_ps(), a.high)};
}
T_INLINE H w_round(W a) { return (H){(__m512i)_mm512_cvtne2ps_pbh(a.high, a.low)}; }
T_INLINE W h_widen(H h) {
    return (W){_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(h.v)), 16)),
               _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(h.v, 1)), 16))};
}
T_INLINE H h_zero(void) { return (H){_mm512_setzero_si512()}; }
T_INLINE H h_load(const void *p) { return (H){_mm512_loadu_si512(p)}; }
T_INLINE H h_load_n(const void *p, int n) { return (H){_mm512_maskz_loadu_epi16(mask_(n), p)}; }
T_INLINE void h_store(void *p, H h) { _mm512_storeu_si512(p, h.v); }
T_INLINE void h_store_n(void *p, H h, int n) { _mm512_mask_storeu_epi16(p, mask_(n), h.v); }
T_INLINE void h_stream(void *p, H h) { _mm512_stream_si512((__m512i *)p, h.v); }
T_INLINE void stream_end(void) { _mm_sfence(); }

// Reads n <= 32 floats `step` apart, followed by zeros.
T_INLINE W w_gather(const float *p, int n, int step) {
    if (step == 1)
        return w_load_n(p, n);
    __m512i at = _mm512_mullo_epi32(_mm512_set1_epi32(step), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    return (W){_mm512_mask_i32gather_ps(_mm512_setzero_ps(), low_mask_(n), at, p, 4),
               _mm512_mask_i32gather_ps(_mm512_setzero_ps(), high_mask_(n), at, p + 16 * step, 4)};
}

// Transposes 16 x 16 words of 32 bits.
T_INLINE void h_transpose(H r[16]) {
    __m512i t[16];
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i].v, r[2 * i + 1].v);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i].v, r[2 * i + 1].v);
    }
    for (int i = 0; i < 4; i++) {
        r[4 * i].v = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1].v = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2].v = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3].v = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i].v, r[i + 4].v, 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i].v, r[i + 4].v, 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8].v, r[i + 12].v, 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8].v, r[i + 12].v, 0xdd);
    }
    for (int i = 0; i < 8; i++) {
        r[i].v = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8].v = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    }
}
// Interleaves a and b: *low gets elements 0 to 15, *high elements 16 to 31.
T_INLINE void h_zip(H a, H b, H *low, H *high) {
    static const uint16_t at[2][32] = {
        {0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
        {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
    low->v = _mm512_permutex2var_epi16(a.v, _mm512_loadu_si512(at[0]), b.v);
    high->v = _mm512_permutex2var_epi16(a.v, _mm512_loadu_si512(at[1]), b.v);
}
// Interleaves in whatever order of columns is fastest: column j of half h is element pair_column(h,
// j).
T_INLINE void h_pair(H a, H b, H *first, H *second) {
    first->v = _mm512_unpacklo_epi16(a.v, b.v);
    second->v = _mm512_unpackhi_epi16(a.v, b.v);
}
// Reads 32 columns that h_pair left, back in their own order.
T_INLINE W w_unpair(W a) {
    const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    return (W){_mm512_permutex2var_ps(a.low, low, a.high),
               _mm512_permutex2var_ps(a.low, _mm512_add_epi32(low, _mm512_set1_epi32(8)), a.high)};
}
// Transposes 32 rows of 32 numbers; rows of `to` are 64 bytes.  Loads put lanes of 128 bits
// together, which leaves one shuffle port free; then 8 x 8 numbers are transposed in each lane.
T_INLINE void h_turn(const char *const *rows, char *to) {
    for (int l = 0; l < 4; l++) {
        __m512i r[8], t[8];
        for (int j = 0; j < 8; j++) {
            __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(rows[j] + 16 * l)));
            v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(rows[j + 8] + 16 * l)), 1);
            v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(rows[j + 16] + 16 * l)), 2);
            r[j] = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(rows[j + 24] + 16 * l)), 3);
        }
        for (int j = 0; j < 4; j++) {
            t[2 * j] = _mm512_unpacklo_epi16(r[2 * j], r[2 * j + 1]);
            t[2 * j + 1] = _mm512_unpackhi_epi16(r[2 * j], r[2 * j + 1]);
        }
        for (int j = 0; j < 2; j++)
            for (int h = 0; h < 2; h++) {
                r[4 * j + 2 * h] = _mm512_unpacklo_epi32(t[4 * j + h], t[4 * j + h + 2]);
                r[4 * j + 2 * h + 1] = _mm512_unpackhi_epi32(t[4 * j + h], t[4 * j + h + 2]);
            }
        for (int j = 0; j < 4; j++) {
            _mm512_storeu_si512(to + (8 * l + 2 * j) * 64, _mm512_unpacklo_epi64(r[j], r[j + 4]));
            _mm512_storeu_si512(to + (8 * l + 2 * j + 1) * 64, _mm512_unpackhi_epi64(r[j], r[j + 4]));
        }
    }
}
#else
#include "kernels/core/tiles_emulated.h"
#endif
// clang-format on

T_INLINE int pair_column(int half, int j) { return 8 * (j / 4) + 4 * half + j % 4; }

T_INLINE void fetch(const void *p) { __builtin_prefetch(p, 0, 2); }

#endif
