// Params of standardize.
#ifndef SR_KERNELS_STANDARDIZE_H
#define SR_KERNELS_STANDARDIZE_H

#include <stdbool.h>

typedef struct { // standardize
    double eps;
    bool unbiased; // the variance over D - 1 numbers
} SrStandardizeParams;

#endif
