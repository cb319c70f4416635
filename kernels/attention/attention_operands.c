// Makes operands of attention's products from blocks of bfloat16 numbers.  In a pair, the number of
// lower index is in the lower half of a lane; a last number without a partner is paired with zero.
#include "kernels/attention/attention_operands.h"

#include <string.h>

#include "base/bf16.h"
#include "base/compiler.h"
#include "kernels/core/block_product.h"

static int pairs(int n) { return (n + 1) / 2; }

// Fills to (rows, pairs of columns): pairs of neighbours in a row.
static void pair_rows(const SrOperandBlock *b, float *to) {
    int width = pairs(b->columns);
    for (int r = 0; r < b->rows; r++) {
        to[(int64_t)r * width + width - 1] = 0;
        memcpy(to + (int64_t)r * width, (const SrBf16 *)b->at + r * b->row,
               (size_t)b->columns * sizeof(SrBf16));
    }
}

// Fills to (n): pairs of low and high numbers; high NULL: zeros.
SR_VECTOR_CLONES
static void pair_two(const SrBf16 *low, const SrBf16 *high, int n, uint32_t *to) {
    if (high)
        for (int i = 0; i < n; i++)
            to[i] = low[i] | (uint32_t)high[i] << 16;
    else
        for (int i = 0; i < n; i++)
            to[i] = low[i];
}

// Fills to (pairs of rows, columns): pairs of neighbours in a column.
static SrAttentionOperand pair_columns(const SrOperandBlock *b, float *to) {
    for (int r = 0; r < b->rows; r += 2) {
        const SrBf16 *low = (const SrBf16 *)b->at + r * b->row;
        pair_two(low, r + 1 < b->rows ? low + b->row : NULL, b->columns,
                 (uint32_t *)(void *)to + (int64_t)(r / 2) * b->columns);
    }
    return (SrAttentionOperand){SR_BF16, to, b->columns, b->columns};
}

SrAttentionOperand sr__left_rows(const SrOperandBlock *b, float *space) {
    if (b->type == SR_F32)
        return (SrAttentionOperand){SR_F32, b->at, b->row, 1};
    if (b->columns % 2 == 0 && b->row % 2 == 0 && (uintptr_t)b->at % sizeof(float) == 0)
        return (SrAttentionOperand){SR_BF16, b->at, b->row / 2, 1};
    pair_rows(b, space);
    return (SrAttentionOperand){SR_BF16, space, pairs(b->columns), 1};
}

SrAttentionOperand sr__left_columns(const SrOperandBlock *b, float *space) {
    if (b->type == SR_F32)
        return (SrAttentionOperand){SR_F32, b->at, 1, b->row};
    SrAttentionOperand o = pair_columns(b, space);
    return (SrAttentionOperand){SR_BF16, o.at, 1, o.row};
}

SrAttentionOperand sr__right_rows(const SrOperandBlock *b, float *space) {
    return b->type == SR_F32 ? (SrAttentionOperand){SR_F32, b->at, b->row, 1}
                             : pair_columns(b, space);
}

SrAttentionOperand sr__right_columns(const SrMachine *machine, const SrOperandBlock *b,
                                     float *space, int64_t row) {
    int columns = b->type == SR_BF16 ? pairs(b->columns) : b->columns;
    SrAttentionOperand o = sr__left_rows(b, space + row * columns);
    sr__block_transpose(machine, o.at, o.row, b->rows, columns, space, row);
    return (SrAttentionOperand){b->type, space, row, 1};
}

void sr__operands_multiply(const SrMachine *machine, int m, int n, int k, float alpha,
                           SrAttentionOperand a, SrAttentionOperand b, bool add, float *c,
                           int64_t c_row) {
    SrBlockProduct p = {.m = m,
                        .n = n,
                        .k = a.type == SR_BF16 ? pairs(k) : k,
                        .alpha = alpha,
                        .a = a.at,
                        .a_row = a.row,
                        .a_step = a.step,
                        .b = b.at,
                        .b_row = b.row,
                        .c = c,
                        .c_row = c_row,
                        .add = add};
    if (a.type == SR_BF16)
        sr__block_pair_product(machine, &p);
    else
        sr__block_product(machine, &p);
}
