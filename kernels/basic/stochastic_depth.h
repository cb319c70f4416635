// Params of stochastic_depth.
#ifndef SR_KERNELS_BASIC_STOCHASTIC_DEPTH_H
#define SR_KERNELS_BASIC_STOCHASTIC_DEPTH_H

#include <stdbool.h>

typedef struct {
    double p; // probability that a branch is dropped
    // one draw for all images (torchvision's mode "batch"); false: one per image ("row")
    bool batch;
} SrStochasticDepthParams;

#endif
