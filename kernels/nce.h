// Params of log_partition and nce: noise-contrastive estimation over a memory.
#ifndef SR_KERNELS_NCE_H
#define SR_KERNELS_NCE_H

#include <stdint.h>

typedef struct { // log_partition
    int64_t samples;
    double temperature;
} SrLogPartitionParams;

typedef struct {     // nce
    int64_t samples; // N, of which noise is drawn evenly
    double temperature;
} SrNceParams;

#endif
