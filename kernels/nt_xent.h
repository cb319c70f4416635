// Params of nt_xent: SimCLR's contrastive loss of embeddings.
#ifndef SR_KERNELS_NT_XENT_H
#define SR_KERNELS_NT_XENT_H

#include <stdbool.h>

typedef struct {
    int num_crops; // C views of every image, rows view-major
    double temperature;
    bool decoupled; // the positive is not in the denominator
} SrNtXentParams;

#endif
