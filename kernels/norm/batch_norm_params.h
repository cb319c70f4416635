// Params of batch_norm, which other norms hold too.
#ifndef SR_KERNELS_NORM_BATCH_NORM_PARAMS_H
#define SR_KERNELS_NORM_BATCH_NORM_PARAMS_H

#include <stdbool.h>

typedef struct {          // batch_norm, on (rows, C): 1d and 2d are one op
    double eps, momentum; // PyTorch: 1e-5, 0.1
    // The activation of that name in the same pass; one at most
    bool relu, relu6, silu, hardswish, gelu;
    bool residual; // a second input of x's shape is added before the activation
    int sync;      // ranks that share one statistic; 0, 1: each rank has its own
} SrBatchNormParams;

#endif
