// Params of cross_entropy.
#ifndef SR_KERNELS_LOSSES_CROSS_ENTROPY_H
#define SR_KERNELS_LOSSES_CROSS_ENTROPY_H

#include <stdint.h>

#include "base/plugin/option.h"

typedef struct {        // cross_entropy
    double temperature; // divides the scores; 0: 1
    double label_smoothing;
    int64_t ignore_index; // rows with this label do not count
    SrDoubles weight;     // (C): weight of each class; n 0: all 1.  Must outlive the graph
} SrCrossEntropyParams;

#endif
