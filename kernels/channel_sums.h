// Sums per channel of a tensor (rows, C), left by the op that made it (SrOp.sum_units) for the one that
// normalises it: the values were in registers then, and reading them again costs a pass over memory.
//
// Rows are cut into units, whose number depends on the shape alone.  Of each unit: its number of rows, and per
// channel a shift (one of its values, so that a mean far from zero costs no digits), the sum of value - shift
// and the sum of its square, in single precision.  Whoever joins units does so in double precision, in order.
#ifndef SR_KERNELS_CHANNEL_SUMS_H
#define SR_KERNELS_CHANNEL_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

typedef struct {
    int64_t units;
    float *count; // (units): rows
    float *unit;  // (units, 3, C): shift, sum, square; NULL: no sums
} SrChannelSums;

// Floats before the units, so that these begin at a cache line.
static inline int64_t sr__sums_head(int64_t units) {
    return (units + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

static inline size_t sr__sums_bytes(int64_t units, int C) {
    return sizeof(float) * (size_t)(sr__sums_head(units) + 3 * units * C);
}

// The view of a block of that many bytes; NULL: of no sums.
static inline SrChannelSums sr__sums_in(void *block, int64_t units) {
    float *p = block;
    return p ? (SrChannelSums){units, p, p + sr__sums_head(units)} : (SrChannelSums){0};
}

#endif
