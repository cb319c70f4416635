// Vector loops of gated_norm, compiled once per instruction set from gated_norm_simd.c.  They run
// over pixels of one image, whose gates are one row.
#ifndef SR_KERNELS_NORM_GATED_NORM_ROWS_H
#define SR_KERNELS_NORM_GATED_NORM_ROWS_H

#include "kernels/norm/batch_norm_rows.h"

// Sums over the pixels of an image that its gradients follow from.  f and f' are taken at the
// normalised x; d is x - mean.
typedef enum {
    SR_GATED_DY_F,       // dy f: the gradient of the gate
    SR_GATED_DY_SLOPE,   // dy f'
    SR_GATED_SLOPE,      // f'
    SR_GATED_DY_SLOPE_D, // dy f' d
    SR_GATED_SLOPE_D,    // f' d
    SR_GATED_SUMS
} SrGatedSum;

// Strips of (rows, width) lie in tensors (rows, stride); k begins at the strip's first channel.
typedef struct {
    // sum[i] += f.  sum: (width)
    void (*pool)(const void *x, int64_t rows, int64_t stride, int width, SrBatchNormCoefs k,
                 SrBatchNormActivation f, double *sum);
    // sum[j] (width) += number j of SrGatedSum.
    void (*sums)(const void *x, const void *dy, int64_t rows, int64_t stride, int width,
                 SrBatchNormCoefs k, SrBatchNormActivation f, double *const sum[SR_GATED_SUMS]);
    // y = gate f.  All are (rows, C), dense; gate: (C).  stream: y bypasses the caches.
    void (*apply)(void *y, const void *x, int64_t rows, int C, SrBatchNormCoefs k,
                  SrBatchNormActivation f, const float *gate, bool stream);
    // dx = a g - k1 d - k0 with g = (gate dy + mean_grad) f'; dx may be dy.  mean_grad: (C)
    void (*input_grad)(void *dx, const void *x, const void *dy, int64_t rows, int C,
                       SrBatchNormCoefs k, SrBatchNormActivation f, const float *gate,
                       const float *mean_grad, bool stream);
} SrGatedNormKernels;

typedef struct {
    SrGatedNormKernels f32, bf16;
} SrGatedNormTables;
SR_CPU_TABLES_BF16(SrGatedNormTables, sr__gated_norm_tables);

static inline const SrGatedNormKernels *sr__gated_norm(const SrMachine *machine, SrDtype type) {
    const SrGatedNormTables *tables = SR_CPU_PICK_BF16(machine, sr__gated_norm_tables);
    return type == SR_BF16 ? &tables->bf16 : &tables->f32;
}

#endif
