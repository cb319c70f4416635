// The operands of attention's products: blocks of floats as they lie in memory, blocks of bfloat16 numbers as the pairs
// that block_product.h multiplies.
#ifndef SR_KERNELS_ATTENTION_OPERANDS_H
#define SR_KERNELS_ATTENTION_OPERANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tensor.h"
#include "kernels/machine.h"

// Rows of numbers side by side, rows `row` numbers apart.
typedef struct {
    SrDtype type;
    const void *at;
    int64_t row;
    int rows, columns;
} SrOperandBlock;

// Floats, or lanes that hold a pair: number (i, l) of the left operand lies at i * row + l * step; of the right one
// (l, j) at l * row + j.
typedef struct {
    SrDtype type;
    const float *at;
    int64_t row, step;
} SrAttentionOperand;

// The block and its transpose as left and as right operand.  `space` takes what has to be made: rows * (columns + 1)
// floats; of the last, whose rows are made `row` floats apart, row * (columns + 1).
SrAttentionOperand sr__left_rows(const SrOperandBlock *b, float *space);
SrAttentionOperand sr__left_columns(const SrOperandBlock *b, float *space);
SrAttentionOperand sr__right_rows(const SrOperandBlock *b, float *space);
SrAttentionOperand sr__right_columns(const SrMachine *machine, const SrOperandBlock *b,
                                     float *space, int64_t row);

// c (m, n) = or, with `add`, += alpha a b over k numbers, rows of c c_row floats apart.
void sr__operands_multiply(const SrMachine *machine, int m, int n, int k, float alpha,
                           SrAttentionOperand a, SrAttentionOperand b, bool add, float *c,
                           int64_t c_row);

#endif
