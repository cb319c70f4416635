// Params of linear: y = x W^T + b over the last dimension, weight (K, C); without gradients also GELU of it, or the sum of
// it and a second input.
#ifndef SR_KERNELS_LINEAR_H
#define SR_KERNELS_LINEAR_H

#include <stdbool.h>

typedef struct { // linear
    int out_features;
    bool bias;
    bool gelu, residual; // plans turn them on (graph/pass_fuse.c); residual before gelu
} SrLinearParams;

#endif
