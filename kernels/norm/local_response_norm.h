// Params of local_response_norm.
#ifndef SR_KERNELS_NORM_LOCAL_RESPONSE_NORM_H
#define SR_KERNELS_NORM_LOCAL_RESPONSE_NORM_H

typedef struct {
    int size; // channels of a window, the channel itself included
    double alpha, beta, k;
} SrLocalResponseNormParams;

#endif
