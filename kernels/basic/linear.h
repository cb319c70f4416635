// Params of linear: y = x W^T + b over the last dimension, weight (K, C).  Without gradients, GELU
// or the sum with a second input may follow.
#ifndef SR_KERNELS_BASIC_LINEAR_H
#define SR_KERNELS_BASIC_LINEAR_H

#include <stdbool.h>

typedef struct { // linear
    int out_features;
    bool bias;
    bool gelu, residual; // set by plans (graph/plan/pass_fuse.c); residual comes before gelu
} SrLinearParams;

#endif
