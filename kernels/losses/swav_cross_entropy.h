// Params of swav_cross_entropy.
#ifndef SR_KERNELS_LOSSES_SWAV_CROSS_ENTROPY_H
#define SR_KERNELS_LOSSES_SWAV_CROSS_ENTROPY_H

#include "base/plugin/option.h"

typedef struct { // swav_cross_entropy
    int num_crops;
    SrInts crops_for_assign; // points to memory that outlives the graph
    double temperature;
} SrSwavCrossEntropyParams;

#endif
