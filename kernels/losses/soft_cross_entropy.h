// Params of soft_cross_entropy.
#ifndef SR_KERNELS_LOSSES_SOFT_CROSS_ENTROPY_H
#define SR_KERNELS_LOSSES_SOFT_CROSS_ENTROPY_H

typedef struct {
    double temperature; // divides the scores; 0: 1
} SrSoftCrossEntropyParams;

#endif
