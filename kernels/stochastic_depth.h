// Params of stochastic_depth.
#ifndef SR_KERNELS_STOCHASTIC_DEPTH_H
#define SR_KERNELS_STOCHASTIC_DEPTH_H

#include <stdbool.h>

typedef struct {
    double p;   // probability that a branch is left out
    bool batch; // for all images at once, torchvision's mode "batch"; else for each ("row")
} SrStochasticDepthParams;

#endif
