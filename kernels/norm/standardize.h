// Params of standardize.
#ifndef SR_KERNELS_NORM_STANDARDIZE_H
#define SR_KERNELS_NORM_STANDARDIZE_H

#include <stdbool.h>

typedef struct { // standardize
    double eps;
    bool unbiased; // divides the variance by D - 1; false: by D
} SrStandardizeParams;

#endif
