// Params of vicreg.
#ifndef SR_KERNELS_VICREG_H
#define SR_KERNELS_VICREG_H

#include <stdbool.h>

typedef struct {
    double sim_coeff, std_coeff, cov_coeff;
    bool paper; // the paper's sums; else the means of its published program
} SrVicregParams;

#endif
