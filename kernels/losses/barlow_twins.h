// Params of barlow_twins.
#ifndef SR_KERNELS_LOSSES_BARLOW_TWINS_H
#define SR_KERNELS_LOSSES_BARLOW_TWINS_H

#include <stdbool.h>

typedef struct {
    double lambda; // weight of the elements off the diagonal
    double scale;  // factor on the whole loss
    // each view has its own mean and variance (the paper); false: both views share them
    bool per_view;
} SrBarlowTwinsParams;

#endif
