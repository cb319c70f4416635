// Products of matrices small enough for the second-level cache, on the calling thread: what
// attention multiplies, a head at a time, and of what kernels/core/gemm.h cuts large products into.
// block_product_simd.c is compiled once per instruction set; block_product_amx.c multiplies pairs
// on tile registers.
#ifndef SR_KERNELS_CORE_BLOCK_PRODUCT_H
#define SR_KERNELS_CORE_BLOCK_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/machine.h"

// Computes C (m, n) = or, with `add`, += alpha A B.  Numbers of A may lie in any layout, pairs only
// with contiguous rows or columns (a_step or a_row 1); rows of B and C are contiguous.  In a
// product of pairs, a number of A stands for two bfloat16 numbers of a row of A, (i, 2 l) and (i, 2
// l + 1).  A number of B stands for two of a column, (2 l, j) and (2 l + 1, j).  k counts pairs; a
// row of odd length is paired with zeros in both.
typedef struct {
    int m, n, k;
    float alpha;
    const float *a; // number (i, l) at i * a_row + l * a_step
    int64_t a_row, a_step;
    const float *b; // (k, n), rows b_row floats apart
    int64_t b_row;
    float *c; // (m, n), rows c_row floats apart
    int64_t c_row;
    bool add;
} SrBlockProduct;

typedef struct {
    int rows; // rows of C in a tile: m is best a multiple
    void (*product)(const SrBlockProduct *p);
    void (*pair_product)(const SrBlockProduct *p);
    // Writes to (columns, rows), rows to_row floats apart, the transpose of from (rows, columns),
    // rows from_row apart.
    void (*transpose)(const float *from, int64_t from_row, int rows, int columns, float *to,
                      int64_t to_row);
} SrBlockProductKernels;
SR_CPU_TABLES_BF16(SrBlockProductKernels, sr__block_product_kernels);

// Products of pairs on tile registers.
typedef struct {
    int rows;
    void (*pair_product)(const SrBlockProduct *p);
} SrBlockTiles;
SR_CPU_TABLES_TILES(SrBlockTiles, sr__block_tiles);

// Returns the rows of C that are computed together, of pairs or of floats.
static inline int sr__block_rows(const SrMachine *machine, bool pairs) {
    const SrBlockTiles *tiles = SR_CPU_PICK_TILES(machine, sr__block_tiles);
    return pairs && tiles ? tiles->rows
                          : SR_CPU_PICK_BF16(machine, sr__block_product_kernels)->rows;
}
static inline void sr__block_product(const SrMachine *machine, const SrBlockProduct *p) {
    SR_CPU_PICK_BF16(machine, sr__block_product_kernels)->product(p);
}
static inline void sr__block_pair_product(const SrMachine *machine, const SrBlockProduct *p) {
    const SrBlockTiles *tiles = SR_CPU_PICK_TILES(machine, sr__block_tiles);
    if (tiles)
        tiles->pair_product(p);
    else
        SR_CPU_PICK_BF16(machine, sr__block_product_kernels)->pair_product(p);
}
static inline void sr__block_transpose(const SrMachine *machine, const float *from,
                                       int64_t from_row, int rows, int columns, float *to,
                                       int64_t to_row) {
    SR_CPU_PICK_BF16(machine, sr__block_product_kernels)
        ->transpose(from, from_row, rows, columns, to, to_row);
}

#endif
