// Products of small matrices in vectors, compiled once per instruction set (block_product.h).  A
// tile of 6 rows and 4 vectors of columns, or 2 where there are 16 registers, stays in them, as in
// the convolutions' micro-kernel: each step loads a row of B once and broadcasts 6 numbers of A.
// OpenBLAS, made for large matrices, packs both operands in every call, which takes as long as a
// head's product.
//
// Level neonbf16 multiplies 2 x 4 numbers by 4 x 2 in one instruction (v_matrix), so pairs have a
// tile of 2 x 2 sums there.
#include "kernels/core/block_product.h"

#include "base/compiler.h"
#include "kernels/core/simd_pairs.h"

enum { ROWS = 6, VECTORS = V_REGISTERS == 32 ? 4 : 2, BLOCK = VECTORS * V_LANES };

// Writes a vector of n sums to row i and columns j and up.
V_INLINE void put(const SrBlockProduct *p, int i, int j, V acc, int n) {
    float *c = p->c + i * p->c_row + j;
    V sum = v_set1(p->alpha) * acc;
    if (p->add)
        sum = sum + v_load_n(c, n);
    v_store_n(c, sum, n);
}

#if defined(V_MATRICES)
// Returns the left operand of v_matrix: pairs 0 and 1 of rows 0 and 1, and zeros where there is one
// pair or one row.
V_INLINE V two_rows(bool across, const SrBlockProduct *p, const float *a, int rows, int pairs) {
    const float32x2_t none = vdup_n_f32(0);
    if (rows == 2 && pairs == 2 && across)
        return vzip1q_f32(vcombine_f32(vld1_f32(a), none),
                          vcombine_f32(vld1_f32(a + p->a_step), none));
    if (rows == 2 && pairs == 2)
        return vcombine_f32(vld1_f32(a), vld1_f32(a + p->a_row));
    V x = vld1q_lane_f32(a, v_zero(), 0);
    if (pairs == 2)
        x = vld1q_lane_f32(a + p->a_step, x, 1);
    if (rows == 2)
        x = vld1q_lane_f32(a + p->a_row, x, 2);
    return x;
}

// Adds the products of `pairs` pairs, 1 or 2, to 2 x 2 sums.
V_INLINE void matrix_step(int M, int NV, int pairs, bool across, const SrBlockProduct *p,
                          const float *a, const float *b, int tail, V acc[ROWS / 2][2 * VECTORS]) {
    V x[ROWS / 2];
    V_FOR (r, (M + 1) / 2)
        x[r] = two_rows(across, p, a + 2 * r * p->a_row, SR_MIN(2, M - 2 * r), pairs);
    V_FOR (v, NV) {
        int n = v < NV - 1 ? V_LANES : tail;
        V even = v_load_n(b + v * V_LANES, n);
        V odd = pairs == 2 ? v_load_n(b + p->b_row + v * V_LANES, n) : v_zero();
        V low = vzip1q_f32(even, odd), high = vzip2q_f32(even, odd);
        V_FOR (r, (M + 1) / 2) {
            acc[r][2 * v] = v_matrix(x[r], low, acc[r][2 * v]);
            acc[r][2 * v + 1] = v_matrix(x[r], high, acc[r][2 * v + 1]);
        }
    }
}

// Does what tile does for pairs, with half as many instructions that multiply.  `across`, a
// constant like M and NV: columns of A are contiguous, else rows are.
V_INLINE void matrix_tile(int M, int NV, bool across, const SrBlockProduct *p, int i, int j,
                          int tail) {
    V acc[ROWS / 2][2 * VECTORS];
    const float *a = p->a + i * p->a_row, *b = p->b + j;
    int l = 0;
    V_FOR (r, (M + 1) / 2)
        V_FOR (v, 2 * NV)
            acc[r][v] = v_zero();
    for (; l + 2 <= p->k; l += 2, a += 2 * p->a_step, b += 2 * p->b_row)
        matrix_step(M, NV, 2, across, p, a, b, tail, acc);
    if (l < p->k)
        matrix_step(M, NV, 1, across, p, a, b, tail, acc);
    V_FOR (r, M)
        V_FOR (v, NV) {
            float64x2_t low = (float64x2_t)acc[r / 2][2 * v];
            float64x2_t high = (float64x2_t)acc[r / 2][2 * v + 1];
            put(p, i + r, j + v * V_LANES,
                (V)(r % 2 ? vzip2q_f64(low, high) : vzip1q_f64(low, high)),
                v < NV - 1 ? V_LANES : tail);
        }
}
#endif

// Computes M rows and NV vectors of columns, the last of which has `tail` columns.  M, NV and pairs
// are constants wherever this is inlined.
V_INLINE void tile(int M, int NV, bool pairs, const SrBlockProduct *p, int i, int j, int tail) {
#if defined(V_MATRICES)
    if (pairs) {
        p->a_step == 1 ? matrix_tile(M, NV, false, p, i, j, tail)
                       : matrix_tile(M, NV, true, p, i, j, tail);
        return;
    }
#endif
    V acc[ROWS][VECTORS];
    const float *a = p->a + i * p->a_row, *b = p->b + j;
    V_FOR (r, M)
        V_FOR (v, NV)
            acc[r][v] = v_zero();
    for (int l = 0; l < p->k; l++, a += p->a_step, b += p->b_row) {
        V w[VECTORS];
        V_FOR (v, NV)
            w[v] = v < NV - 1 ? v_load(b + v * V_LANES) : v_load_n(b + v * V_LANES, tail);
        V_FOR (r, M) {
            V x = v_scalar(a[r * p->a_row]);
            V_FOR (v, NV)
                acc[r][v] = v_step_by(pairs, x, w[v], acc[r][v]);
        }
    }
    V_FOR (r, M)
        V_FOR (v, NV)
            put(p, i + r, j + v * V_LANES, acc[r][v], v < NV - 1 ? V_LANES : tail);
}

#define COLUMNS(M)                                                                           \
    V_INLINE void tile_##M(bool pairs, const SrBlockProduct *p, int i, int j, int columns) { \
        int vectors = (columns + V_LANES - 1) / V_LANES;                                     \
        int tail = columns - (vectors - 1) * V_LANES;                                        \
        switch (vectors) {                                                                   \
        case 1: tile(M, 1, pairs, p, i, j, tail); break;                                     \
        case 2: tile(M, 2, pairs, p, i, j, tail); break;                                     \
        case 3: tile(M, SR_MIN(3, VECTORS), pairs, p, i, j, tail); break;                    \
        default: tile(M, VECTORS, pairs, p, i, j, tail);                                     \
        }                                                                                    \
    }
COLUMNS(6)
COLUMNS(4)
COLUMNS(2)
COLUMNS(1)

V_INLINE void product_of(bool pairs, const SrBlockProduct *p) {
    for (int j = 0; j < p->n; j += BLOCK) {
        int columns = SR_MIN(BLOCK, p->n - j), i = 0;
        for (; i + 6 <= p->m; i += 6)
            tile_6(pairs, p, i, j, columns);
        for (; i + 4 <= p->m; i += 4)
            tile_4(pairs, p, i, j, columns);
        for (; i + 2 <= p->m; i += 2)
            tile_2(pairs, p, i, j, columns);
        if (i < p->m)
            tile_1(pairs, p, i, j, columns);
    }
}
static void product(const SrBlockProduct *p) { product_of(false, p); }
static void pair_product(const SrBlockProduct *p) { product_of(true, p); }

static void transpose(const float *from, int64_t from_row, int rows, int columns, float *to,
                      int64_t to_row) {
    for (int i = 0; i < rows; i += V_LANES)
        for (int j = 0; j < columns; j += V_LANES) {
            int m = SR_MIN(V_LANES, rows - i), n = SR_MIN(V_LANES, columns - j);
            V block[V_LANES];
            V_FOR (r, V_LANES)
                block[r] = r < m ? v_load_n(from + (i + r) * from_row + j, n) : v_zero();
            v_transpose(block);
            V_FOR (r, V_LANES)
                if (r < n)
                    v_store_n(to + (j + r) * to_row + i, block[r], m);
        }
}

const SrBlockProductKernels SR_ISA_SYMBOL(sr__block_product_kernels) = {ROWS, product, pair_product,
                                                                        transpose};
