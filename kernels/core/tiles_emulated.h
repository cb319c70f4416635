// kernels/core/tiles.h in plain C, with products in vectors where there are any.  It computes the
// processor's bits, which was checked over 36 million sums:
//  * T_PRODUCT starts from zero.  For each of the 16 pairs, one fused multiply-add goes into a sum
//    of the even numbers and one into a sum of the odd ones; then even + odd, then the old sum +
//    that.  Everything is rounded to the nearest, whatever MXCSR says.
//  * Subnormal inputs count as zero and subnormal results become zero, those of sums as well.
//  * NaNs stay NaNs, perhaps with another payload.
#ifndef SR_KERNELS_CORE_TILES_EMULATED_H
#define SR_KERNELS_CORE_TILES_EMULATED_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/bf16.h"

static _Thread_local _Alignas(64) uint8_t emulated_tile[8][16][64];

#define T_ZERO(t) memset(emulated_tile[t], 0, sizeof emulated_tile[t])
#define T_LOAD(t, p, distance) emulated_load(t, p, distance)
#define T_STORE(t, p, distance) emulated_store(t, p, distance)
#define T_PRODUCT(sum, a, b) emulated_product(sum, a, b)

T_INLINE void tiles_configure(void) { memset(emulated_tile, 0, sizeof emulated_tile); }
T_INLINE void tiles_release(void) {}

static inline void emulated_load(int t, const void *p, int64_t distance) {
    for (int i = 0; i < 16; i++)
        memcpy(emulated_tile[t][i], (const char *)p + i * distance, 64);
}

static inline void emulated_store(int t, void *p, int64_t distance) {
    for (int i = 0; i < 16; i++)
        memcpy((char *)p + i * distance, emulated_tile[t][i], 64);
}

T_INLINE float flush(float v) { // a subnormal number becomes a zero of its sign
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if ((bits & 0x7f800000) == 0)
        bits &= 0x80000000;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline void emulated_widen(const uint8_t *from, float to[32]) {
    SrBf16 h[32];
    memcpy(h, from, sizeof h);
    for (int i = 0; i < 32; i++)
        to[i] = flush(sr_bf16_float(h[i]));
}

// Fused multiply-add: the product of two bfloat16 numbers is a float except for its exponent, and
// the sum of two floats in double rounds to a float as if it were exact (Figueroa, "When is double
// rounding innocuous?", 1995).
T_INLINE float add_product(float a, float b, float sum) {
    return flush((float)((double)a * (double)b + (double)sum));
}

static inline void product_plain(int to, int a, int b) {
    float columns[16][32], row[32], sum[32], old[16];
    for (int k = 0; k < 16; k++)
        emulated_widen(emulated_tile[b][k], columns[k]);
    for (int m = 0; m < 16; m++) {
        emulated_widen(emulated_tile[a][m], row);
        memset(sum, 0, sizeof sum);
        for (int k = 0; k < 16; k++)
            for (int n = 0; n < 32; n++)
                sum[n] = add_product(row[2 * k + n % 2], columns[k][n], sum[n]);
        memcpy(old, emulated_tile[to][m], sizeof old);
        for (int n = 0; n < 16; n++)
            old[n] = flush(flush(old[n]) + flush(sum[2 * n] + sum[2 * n + 1]));
        memcpy(emulated_tile[to][m], old, sizeof old);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

// T_PRODUCT in vectors, where a fused multiply-add is an instruction.  It is fifty times faster, so
// that whole runs can be emulated.  It is a separate function because MXCSR is set around it.
__attribute__((noinline, target("avx512f"))) static void product_vectors(int to, int a, int b) {
    _Alignas(64) float left[16][32];
    const __m512i high = _mm512_set1_epi32((int)0xffff0000);
    for (int m = 0; m < 16; m++) {
        __m512i pairs = _mm512_loadu_si512(emulated_tile[a][m]);
        _mm512_store_si512(left[m], _mm512_slli_epi32(pairs, 16));
        _mm512_store_si512(left[m] + 16, _mm512_and_si512(pairs, high));
    }
    for (int m = 0; m < 16; m += 4) {
        __m512 even[4], odd[4];
        for (int r = 0; r < 4; r++)
            even[r] = odd[r] = _mm512_setzero_ps();
        for (int k = 0; k < 16; k++) {
            __m512i pairs = _mm512_loadu_si512(emulated_tile[b][k]);
            __m512 first = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
            __m512 second = _mm512_castsi512_ps(_mm512_and_si512(pairs, high));
            for (int r = 0; r < 4; r++) {
                even[r] = _mm512_fmadd_ps(_mm512_set1_ps(left[m + r][k]), first, even[r]);
                odd[r] = _mm512_fmadd_ps(_mm512_set1_ps(left[m + r][16 + k]), second, odd[r]);
            }
        }
        for (int r = 0; r < 4; r++) {
            __m512 old = _mm512_loadu_ps(emulated_tile[to][m + r]);
            _mm512_storeu_ps(emulated_tile[to][m + r],
                             _mm512_add_ps(old, _mm512_add_ps(even[r], odd[r])));
        }
    }
}

static inline void emulated_product(int to, int a, int b) {
    if (!__builtin_cpu_supports("avx512f")) {
        product_plain(to, a, b);
        return;
    }
    unsigned before = _mm_getcsr();
    _mm_setcsr(0x9fc0); // round to nearest, subnormals are zero, no traps
    product_vectors(to, a, b);
    _mm_setcsr(before);
}
#else
static inline void emulated_product(int to, int a, int b) { product_plain(to, a, b); }
#endif

typedef struct {
    float v[32];
} W;
typedef struct {
    SrBf16 v[32];
} H;

T_INLINE W w_zero(void) { return (W){{0}}; }
T_INLINE W w_set1(float v) {
    W a;
    for (int i = 0; i < 32; i++)
        a.v[i] = v;
    return a;
}
T_INLINE W w_load_n(const float *p, int n) {
    W a = {{0}};
    memcpy(&a, p, sizeof(float) * (size_t)(n < 32 ? n : 32));
    return a;
}
T_INLINE W w_load(const float *p) { return w_load_n(p, 32); }
T_INLINE void w_store_n(float *p, W a, int n) {
    memcpy(p, &a, sizeof(float) * (size_t)(n < 32 ? n : 32));
}
T_INLINE void w_store(float *p, W a) { w_store_n(p, a, 32); }
T_INLINE void w_stream(float *p, W a) { w_store(p, a); }
T_INLINE W w_add(W a, W b) {
    for (int i = 0; i < 32; i++)
        a.v[i] += b.v[i];
    return a;
}
T_INLINE W w_sub(W a, W b) {
    for (int i = 0; i < 32; i++)
        a.v[i] -= b.v[i];
    return a;
}
T_INLINE W w_fma(W a, W b, W c) {
    for (int i = 0; i < 32; i++)
        c.v[i] = fmaf(a.v[i], b.v[i], c.v[i]);
    return c;
}
T_INLINE W w_relu(W a) {
    for (int i = 0; i < 32; i++)
        a.v[i] = 0 > a.v[i] ? 0 : a.v[i];
    return a;
}
T_INLINE H w_round(W a) {
    H h;
    for (int i = 0; i < 32; i++)
        h.v[i] = sr_bf16_round(flush(a.v[i]));
    return h;
}
T_INLINE W h_widen(H h) {
    W a;
    for (int i = 0; i < 32; i++)
        a.v[i] = sr_bf16_float(h.v[i]);
    return a;
}
T_INLINE H h_zero(void) { return (H){{0}}; }
T_INLINE H h_load_n(const void *p, int n) {
    H h = {{0}};
    memcpy(&h, p, sizeof(SrBf16) * (size_t)(n < 32 ? n : 32));
    return h;
}
T_INLINE H h_load(const void *p) { return h_load_n(p, 32); }
T_INLINE void h_store_n(void *p, H h, int n) {
    memcpy(p, &h, sizeof(SrBf16) * (size_t)(n < 32 ? n : 32));
}
T_INLINE void h_store(void *p, H h) { h_store_n(p, h, 32); }
T_INLINE void h_stream(void *p, H h) { h_store(p, h); }
T_INLINE void stream_end(void) {}

T_INLINE W w_gather(const float *p, int n, int step) {
    W a = {{0}};
    for (int i = 0; i < 32 && i < n; i++)
        a.v[i] = p[i * step];
    return a;
}

T_INLINE void h_transpose(H r[16]) {
    H t[16];
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            memcpy(&t[j].v[2 * i], &r[i].v[2 * j], 2 * sizeof(SrBf16));
    memcpy(r, t, sizeof t);
}
T_INLINE void h_zip(H a, H b, H *low, H *high) {
    for (int i = 0; i < 16; i++) {
        low->v[2 * i] = a.v[i];
        low->v[2 * i + 1] = b.v[i];
        high->v[2 * i] = a.v[16 + i];
        high->v[2 * i + 1] = b.v[16 + i];
    }
}
T_INLINE int pair_column(int half, int j);
T_INLINE void h_pair(H a, H b, H *first, H *second) {
    for (int i = 0; i < 16; i++)
        for (int half = 0; half < 2; half++) {
            H *to = half ? second : first;
            to->v[2 * i] = a.v[pair_column(half, i)];
            to->v[2 * i + 1] = b.v[pair_column(half, i)];
        }
}
T_INLINE W w_unpair(W a) {
    W b;
    for (int i = 0; i < 32; i++)
        b.v[pair_column(i / 16, i % 16)] = a.v[i];
    return b;
}
T_INLINE void h_turn(const char *const *rows, char *to) {
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
            memcpy(to + 64 * j + 2 * i, rows[i] + 2 * j, sizeof(SrBf16));
}

#endif
