// Params of log_partition and nce: noise-contrastive estimation over a memory.
#ifndef SR_KERNELS_MEMORY_NCE_H
#define SR_KERNELS_MEMORY_NCE_H

#include <stdint.h>

typedef struct { // log_partition
    int64_t samples;
    double temperature;
} SrLogPartitionParams;

typedef struct {     // nce
    int64_t samples; // size N of the set that noise is drawn from, uniformly
    double temperature;
} SrNceParams;

#endif
