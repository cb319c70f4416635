// Params of moco_cross_entropy: a query's key against a queue of other keys.
#ifndef SR_KERNELS_MOCO_CROSS_ENTROPY_H
#define SR_KERNELS_MOCO_CROSS_ENTROPY_H

typedef struct {
    int queue_size; // K keys
    double temperature;
} SrMocoCrossEntropyParams;

#endif
