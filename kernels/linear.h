// Params of linear: y = x W^T + b over the last dimension, weight (K, C).
#ifndef SR_KERNELS_LINEAR_H
#define SR_KERNELS_LINEAR_H

#include <stdbool.h>

typedef struct { // linear
    int out_features;
    bool bias;
} SrLinearParams;

#endif
