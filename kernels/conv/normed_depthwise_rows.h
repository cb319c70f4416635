// Vector loops of normed_depthwise, compiled once per instruction set from normed_depthwise_simd.c.
#ifndef SR_KERNELS_CONV_NORMED_DEPTHWISE_ROWS_H
#define SR_KERNELS_CONV_NORMED_DEPTHWISE_ROWS_H

#include "kernels/norm/batch_norm_rows.h"

// One row of pixels on its way back.  With v the normalised x, u = f(v) and g = du f'(v).
typedef struct {
    const float *x, *du; // (columns, C)
    float *u;            // (columns, C)
    float *g;            // (columns, C), perhaps where du is; NULL: not wanted
    bool stream;         // g bypasses the caches; it is aligned, and C a multiple of a cache line
    int columns, C;
    SrBatchNormCoefs k;
    SrBatchNormActivation f;
    double *sum_g, *sum_gx; // (C) each: += g and g (x - mean) over the row
} SrNormedRow;

typedef struct {
    void (*back)(const SrNormedRow *row);
} SrNormedRowKernels;
SR_CPU_TABLES(SrNormedRowKernels, sr__normed_rows);

#endif
