// Vector loops of batch_norm, compiled once per instruction set from batch_norm_simd.c.
#ifndef SR_KERNELS_NORM_BATCH_NORM_ROWS_H
#define SR_KERNELS_NORM_BATCH_NORM_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tensor.h"
#include "kernels/machine.h"
#include "kernels/norm/channel_sums.h"

// Numbers of a call per channel, each (C).  The normalised value is v = (x - mean) * a + b.
typedef struct {
    const float *mean, *a, *b; // a = weight * invstd, b = bias
    const float *k1, *k0;      // backward: dx = a g - k1 (x - mean) - k0
} SrBatchNormCoefs;

enum { SR_BN_STRIP = 512 }; // channels of a strip at most

// The activation f that follows the normalisation in the same pass.
typedef enum {
    SR_BN_LINEAR,
    SR_BN_RELU,
    SR_BN_RELU6,
    SR_BN_SILU,
    SR_BN_HARDSWISH,
    SR_BN_GELU
} SrBatchNormActivation;

// x, y, residual and gradients are floats or bfloat16, all of a call the same.  The backward gets
// the slope of f from `aux`: for a relu after a residual this is y, for another activation after a
// residual it is the residual, and NULL means that there is no residual.
typedef struct {
    // Adds over the rows of a strip (rows, width): sum[i] += x - shift[i] and square[i] += (x -
    // shift[i])^2.  Rows lie `stride` apart; shift (width) has x's type.
    void (*stats)(const void *x, int64_t rows, int64_t stride, int width, const void *shift,
                  double *sum, double *square);
    // Adds the same about `shift` (C floats) for channels [from, from + width) of sums that an op
    // left, units in order.
    void (*join)(const SrChannelSums *sums, int C, int from, int width, const float *shift,
                 double *sum, double *square);
    // y = f(v + residual); residual NULL leaves that part out.  All are (rows, C), dense.  stream:
    // y bypasses the caches.
    void (*apply)(void *y, const void *x, const void *residual, int64_t rows, int C,
                  SrBatchNormCoefs k, SrBatchNormActivation f, bool stream);
    // With g = dy f': sum_g[i] += g, sum_gx[i] += g (x - mean), and g_out (rows, width) = g.  g_out
    // NULL: not wanted.  Strips as in stats.  stream: g_out bypasses the caches.
    void (*reduce)(const void *x, const void *aux, const void *dy, void *g_out, int64_t rows,
                   int64_t stride, int width, SrBatchNormCoefs k, SrBatchNormActivation f,
                   bool stream, double *sum_g, double *sum_gx);
    // dx = a g - k1 (x - mean) - k0; dx may be dy.  All are (rows, C), dense.  stream: dx, which is
    // then not dy, bypasses the caches.
    void (*input_grad)(void *dx, const void *x, const void *aux, const void *dy, int64_t rows,
                       int C, SrBatchNormCoefs k, SrBatchNormActivation f, bool stream);
} SrBatchNormKernels;

typedef struct {
    SrBatchNormKernels f32, bf16;
} SrBatchNormTables;
SR_CPU_TABLES_BF16(SrBatchNormTables, sr__batch_norm_tables);

static inline const SrBatchNormKernels *sr__batch_norm(const SrMachine *machine, SrDtype type) {
    const SrBatchNormTables *tables = SR_CPU_PICK_BF16(machine, sr__batch_norm_tables);
    return type == SR_BF16 ? &tables->bf16 : &tables->f32;
}

#endif
