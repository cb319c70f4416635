// Converts between floats and IEEE half precision (binary16), in which stored rows of features lie:
// 11 bits of precision, magnitudes from 6e-8 to 65504.
#ifndef SR_KERNELS_CORE_HALF_H
#define SR_KERNELS_CORE_HALF_H

#include <stdint.h>

#include "kernels/machine.h"

// All run on the calling thread.  Conversions give the same bits at every level of the processor.
typedef struct {
    void (*to_float)(float *y, const uint16_t *x, int64_t n);
    // Rounds to the nearest half, ties to even.  Magnitudes above 65504 become 65504.
    void (*from_float)(uint16_t *y, const float *x, int64_t n);
    // Computes y[i] = the product of row i of x (rows, d) with q (d), in float.
    void (*products)(float *y, const uint16_t *x, const float *q, int64_t rows, int d);
} SrHalfKernels;

SR_CPU_TABLES(SrHalfKernels, sr__half_kernels);
static inline const SrHalfKernels *sr__half(void) {
    return SR_CPU_PICK(sr_machine_default(), sr__half_kernels);
}

#endif
