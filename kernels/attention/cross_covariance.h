// Params of cross_covariance.
#ifndef SR_KERNELS_ATTENTION_CROSS_COVARIANCE_H
#define SR_KERNELS_ATTENTION_CROSS_COVARIANCE_H

typedef struct { // cross_covariance
    int num_heads;
} SrCrossCovarianceParams;

#endif
