// Sums per channel of a tensor (rows, C).  The op that computes the tensor writes them
// (SrOp.sum_units) for the op that normalises it: the values are in registers then, and reading
// them again would cost a pass over memory.
//
// Rows are cut into units, whose number depends on the shape alone.  A unit holds its number of
// rows and, per channel in single precision, a shift, the sum of value - shift, and the sum of its
// square.  The shift is one of the channel's values, so that a mean far from zero costs no digits.
// Units are joined in double precision, in order.
#ifndef SR_KERNELS_NORM_CHANNEL_SUMS_H
#define SR_KERNELS_NORM_CHANNEL_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

typedef struct {
    int64_t units;
    float *count; // (units): rows
    float *unit;  // (units): rows of each unit
} SrChannelSums;

// Floats before the units, so that they begin at a cache line.
static inline int64_t sr__sums_head(int64_t units) {
    return (units + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

static inline size_t sr__sums_bytes(int64_t units, int C) {
    return sizeof(float) * (size_t)(sr__sums_head(units) + 3 * units * C);
}

// Returns the sums in a block of sr__sums_bytes; block NULL: no sums.
static inline SrChannelSums sr__sums_in(void *block, int64_t units) {
    float *p = block;
    return p ? (SrChannelSums){units, p, p + sr__sums_head(units)} : (SrChannelSums){0};
}

#endif
