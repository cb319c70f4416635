// Params of local_response_norm.
#ifndef SR_KERNELS_LOCAL_RESPONSE_NORM_H
#define SR_KERNELS_LOCAL_RESPONSE_NORM_H

typedef struct {
    int size; // channels that a channel is compared with, itself among them
    double alpha, beta, k;
} SrLocalResponseNormParams;

#endif
