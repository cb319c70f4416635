// Params of gated_norm.
#ifndef SR_KERNELS_NORM_GATED_NORM_H
#define SR_KERNELS_NORM_GATED_NORM_H

#include "kernels/norm/batch_norm_params.h"

typedef enum { SR_SQUEEZE_RELU, SR_SQUEEZE_SILU } SrSqueezeActivation;
typedef enum { SR_GATE_SIGMOID, SR_GATE_HARDSIGMOID } SrGate;

typedef struct {            // gated_norm, on (N, H, W, C)
    SrBatchNormParams norm; // with one activation and no residual
    int squeeze;            // channels between the two products
    int activation;         // SrSqueezeActivation, after the first product
    int gate;               // SrGate, after the second
} SrGatedNormParams;

#endif
