// Products of small matrices in vectors, compiled once per instruction set (block_product.h).  A
// tile of 6 rows and 4 vectors of columns stays in registers, as in the convolutions' micro-kernel:
// each step loads a row of B once and broadcasts 6 numbers of A.  OpenBLAS, made for large
// matrices, packs both operands in every call, which takes as long as a head's product.
#include "kernels/core/block_product.h"

#include "base/compiler.h"
#include "kernels/core/simd_pairs.h"

enum { ROWS = 6, VECTORS = 4, BLOCK = VECTORS * V_LANES };

// Computes M rows and NV vectors of columns, the last of which has `tail` columns.  M, NV and pairs
// are constants wherever this is inlined.
V_INLINE void tile(int M, int NV, bool pairs, const SrBlockProduct *p, int i, int j, int tail) {
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
            V x = v_set1(a[r * p->a_row]);
            V_FOR (v, NV)
                acc[r][v] = v_step(pairs, x, w[v], acc[r][v]);
        }
    }
    V alpha = v_set1(p->alpha);
    V_FOR (r, M) {
        float *c = p->c + (i + r) * p->c_row + j;
        V_FOR (v, NV) {
            int n = v < NV - 1 ? V_LANES : tail;
            V sum = alpha * acc[r][v];
            if (p->add)
                sum = sum + v_load_n(c + v * V_LANES, n);
            v_store_n(c + v * V_LANES, sum, n);
        }
    }
}

#define COLUMNS(M)                                                                           \
    V_INLINE void tile_##M(bool pairs, const SrBlockProduct *p, int i, int j, int columns) { \
        int vectors = (columns + V_LANES - 1) / V_LANES;                                     \
        int tail = columns - (vectors - 1) * V_LANES;                                        \
        switch (vectors) {                                                                   \
        case 1: tile(M, 1, pairs, p, i, j, tail); break;                                     \
        case 2: tile(M, 2, pairs, p, i, j, tail); break;                                     \
        case 3: tile(M, 3, pairs, p, i, j, tail); break;                                     \
        default: tile(M, 4, pairs, p, i, j, tail);                                           \
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
