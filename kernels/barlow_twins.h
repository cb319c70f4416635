// Params of barlow_twins.
#ifndef SR_KERNELS_BARLOW_TWINS_H
#define SR_KERNELS_BARLOW_TWINS_H

#include <stdbool.h>

typedef struct {
    double lambda; // weight of what lies off the diagonal
    double scale;  // of the whole loss
    bool per_view; // each view has a mean and a variance of its own (the paper); else both together
} SrBarlowTwinsParams;

#endif
