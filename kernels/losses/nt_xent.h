// Params of nt_xent: SimCLR's contrastive loss of embeddings.
#ifndef SR_KERNELS_LOSSES_NT_XENT_H
#define SR_KERNELS_LOSSES_NT_XENT_H

#include <stdbool.h>

typedef struct {
    int num_crops; // views C of every image; rows are view-major
    double temperature;
    bool decoupled; // the positive is left out of the denominator
} SrNtXentParams;

#endif
