// Products of heads small enough for the first- and second-level caches, and their operands.  Only
// for attention_whole_simd.c, where vectors are long.  Up to 12 rows and 2 vectors of columns, or 6
// and 4, stay in registers; rows are cut into tiles of nearly equal heights.
#ifndef SR_KERNELS_ATTENTION_ATTENTION_PRODUCT_H
#define SR_KERNELS_ATTENTION_ATTENTION_PRODUCT_H

#include "base/compiler.h"
#include "kernels/core/simd_pairs.h"

enum { ROWS = 12, MOST = 4, BLOCK = 2 * V_LANES, CHAIN = 80 };

// c (m, whole vectors) = a b: number (i, l) of a at i * a_row + l * a_step, of b (l, j) at l *
// b_row + j.
typedef struct {
    int m, vectors, k;
    const float *a;
    int64_t a_row, a_step;
    const float *b;
    int64_t b_row;
    float *c;
    int64_t c_row;
} Product;

// Computes M rows from i and NV vectors from column j.  M, NV, pairs and across (a_row is 1, else
// a_step is) are constants wherever this is inlined.  Three rows of a share one pointer, because
// there are too few registers for twelve.
V_INLINE void tile(int M, int NV, bool pairs, bool across, bool join, const Product *p, int i,
                   int j) {
    V acc[ROWS][MOST];
    int64_t row = across ? 1 : p->a_row;
    const float *b = p->b + j, *a[4];
    V_FOR (g, 4)
        a[g] = p->a + (i + 3 * g) * row;
    V_FOR (r, M)
        V_FOR (v, NV)
            acc[r][v] = v_zero();
    for (int l = 0; l < p->k; l++, b += p->b_row) {
        V w[MOST];
        V_FOR (v, NV)
            w[v] = v_load(b + v * V_LANES);
        V_FOR (r, M) {
            V x = v_set1(a[r / 3][r % 3 * row]);
            V_FOR (v, NV)
                acc[r][v] = v_step(pairs, x, w[v], acc[r][v]);
        }
        V_FOR (g, 4)
            a[g] += across ? p->a_step : 1;
    }
    int64_t c_row = p->c_row;
    float *c = p->c + i * c_row + j;
    V_FOR (r, M) {
        V_FOR (v, NV) {
            if (join)
                acc[r][v] = v_load(c + v * V_LANES) + acc[r][v];
            v_store(c + v * V_LANES, acc[r][v]);
        }
        c += c_row;
    }
}

#define HEIGHT(M)                                      \
    case M:                                            \
        if (M <= most)                                 \
            tile(M, NV, pairs, across, join, p, i, j); \
        break
V_INLINE void tile_of(int M, int most, int NV, bool pairs, bool across, bool join, const Product *p,
                      int i, int j) {
    switch (M) {
        HEIGHT(1);
        HEIGHT(2);
        HEIGHT(3);
        HEIGHT(4);
        HEIGHT(5);
        HEIGHT(6);
        HEIGHT(7);
        HEIGHT(8);
        HEIGHT(9);
        HEIGHT(10);
        HEIGHT(11);
        HEIGHT(12);
    }
}

// Computes NV vectors from column j, with rows in tiles of nearly equal heights, at most `rows`.
V_INLINE void columns(int NV, int rows, bool pairs, bool across, bool join, const Product *p,
                      int j) {
    int tiles = (p->m + rows - 1) / rows;
    for (int t = 0; t < tiles; t++) {
        int i = p->m * t / tiles, M = p->m * (t + 1) / tiles - i;
        tile_of(M, rows, NV, pairs, across, join, p, i, j);
    }
}

V_INLINE void multiply(bool pairs, bool across, bool join, const Product *p) {
    int v = 0;
    for (; v + 4 <= p->vectors; v += 4)
        columns(4, ROWS / 2, pairs, across, join, p, v * V_LANES);
    for (; v + 2 <= p->vectors; v += 2)
        columns(2, ROWS, pairs, across, join, p, v * V_LANES);
    if (v < p->vectors)
        columns(1, ROWS, pairs, across, join, p, v * V_LANES);
}

static void multiply_floats(const Product *p) { multiply(false, false, false, p); }
static void multiply_pairs(const Product *p) { multiply(true, false, false, p); }
static void multiply_floats_across(const Product *p) { multiply(false, true, false, p); }
static void multiply_pairs_across(const Product *p) { multiply(true, true, false, p); }
static void join_floats(const Product *p) { multiply(false, false, true, p); }

// Multiplies left operands whose rows are contiguous; floats are added in sums of at most CHAIN
// products each.
V_INLINE void multiply_rows(SrDtype type, const Product *p) {
    if (type == SR_BF16) {
        multiply_pairs(p);
        return;
    }
    int parts = (p->k + CHAIN - 1) / CHAIN;
    for (int t = 0; t < parts; t++) {
        int from = p->k * t / parts;
        Product part = *p;
        part.k = p->k * (t + 1) / parts - from;
        part.a += from;
        part.b += from * p->b_row;
        t ? join_floats(&part) : multiply_floats(&part);
    }
}
V_INLINE void multiply_across(SrDtype type, const Product *p) {
    type == SR_BF16 ? multiply_pairs_across(p) : multiply_floats_across(p);
}

// Four columns from column j of up to 16 rows, followed by zeros: loads put lanes of 128 bits
// together, then groups of four are transposed.
V_INLINE void turn_four(const float *x, int64_t x_row, int rows, V to[4]) {
    static const float zeros[4];
    __m512 r[4], t[4];
    V_FOR (i, 4) {
        const float *row[4];
        V_FOR (lane, 4)
            row[lane] = i + 4 * lane < rows ? x + (i + 4 * lane) * x_row : zeros;
        r[i] = _mm512_castps128_ps512(_mm_loadu_ps(row[0]));
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(row[1]), 1);
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(row[2]), 2);
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(row[3]), 3);
    }
    V_FOR (i, 2) {
        t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    V_FOR (i, 2) {
        __m512d low = _mm512_castps_pd(t[i]), high = _mm512_castps_pd(t[i + 2]);
        to[2 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
        to[2 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
    }
}

// Writes to (words, to_row), the transpose of x (rows, words), whose rows lie x_row floats apart;
// zeros up to a whole vector.
V_INLINE void turn(const float *x, int64_t x_row, int rows, int words, float *to, int to_row) {
    for (int i = 0; i < rows; i += V_LANES, x += V_LANES * x_row) {
        int m = SR_MIN(V_LANES, rows - i), j = 0;
        for (; j + 4 <= words; j += 4) {
            V four[4];
            if (m == V_LANES)
                turn_four(x + j, x_row, V_LANES, four);
            else
                turn_four(x + j, x_row, m, four);
            V_FOR (c, 4)
                v_store(to + (int64_t)(j + c) * to_row + i, four[c]);
        }
        for (; j < words; j++)
            for (int r = 0; r < V_LANES; r++)
                to[(int64_t)j * to_row + i + r] = r < m ? x[r * x_row + j] : 0;
    }
}

#endif
