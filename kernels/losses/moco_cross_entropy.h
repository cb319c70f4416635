// Params of moco_cross_entropy, which compares a query's key with a queue of other keys.
#ifndef SR_KERNELS_LOSSES_MOCO_CROSS_ENTROPY_H
#define SR_KERNELS_LOSSES_MOCO_CROSS_ENTROPY_H

typedef struct {
    int queue_size; // K keys
    double temperature;
} SrMocoCrossEntropyParams;

#endif
