// Params of weight_norm_linear: torch.nn.utils.weight_norm of a linear layer.
#ifndef SR_KERNELS_NORM_WEIGHT_NORM_LINEAR_H
#define SR_KERNELS_NORM_WEIGHT_NORM_LINEAR_H

typedef struct { // weight_norm_linear: no bias, as prototypes have none
    int out_features;
} SrWeightNormLinearParams;

#endif
