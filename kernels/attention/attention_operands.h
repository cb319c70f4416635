// Operands of attention's products.  Blocks of floats stay where they are in memory; blocks of
// bfloat16 numbers become the pairs that block_product.h multiplies.
#ifndef SR_KERNELS_ATTENTION_ATTENTION_OPERANDS_H
#define SR_KERNELS_ATTENTION_ATTENTION_OPERANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tensor.h"
#include "kernels/machine.h"

// A block: rows of contiguous numbers, `row` numbers apart.
typedef struct {
    SrDtype type;
    const void *at;
    int64_t row;
    int rows, columns;
} SrOperandBlock;

// An operand: floats, or lanes that hold a pair.  Number (i, l) of a left operand lies at i * row +
// l * step; number (l, j) of a right one at l * row + j.
typedef struct {
    SrDtype type;
    const float *at;
    int64_t row, step;
} SrAttentionOperand;

// Make the block, or its transpose, a left or right operand.  `space` takes what has to be made:
// rows * (columns + 1) floats.  The last function makes rows `row` floats apart and takes row *
// (columns + 1).
SrAttentionOperand sr__left_rows(const SrOperandBlock *b, float *space);
SrAttentionOperand sr__left_columns(const SrOperandBlock *b, float *space);
SrAttentionOperand sr__right_rows(const SrOperandBlock *b, float *space);
SrAttentionOperand sr__right_columns(const SrMachine *machine, const SrOperandBlock *b,
                                     float *space, int64_t row);

// Computes c (m, n) = or, with `add`, += alpha a b over k numbers; rows of c lie c_row floats
// apart.
void sr__operands_multiply(const SrMachine *machine, int m, int n, int k, float alpha,
                           SrAttentionOperand a, SrAttentionOperand b, bool add, float *c,
                           int64_t c_row);

#endif
