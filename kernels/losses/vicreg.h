// Params of vicreg.
#ifndef SR_KERNELS_LOSSES_VICREG_H
#define SR_KERNELS_LOSSES_VICREG_H

#include <stdbool.h>

typedef struct {
    double sim_coeff, std_coeff, cov_coeff;
    double gamma, eps; // lower bound of each feature's deviation, and what is added to variances
    bool paper;        // true: the paper's sums; false: the means of its published program
} SrVicregParams;

#endif
