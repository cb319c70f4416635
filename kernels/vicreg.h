// Params of vicreg.
#ifndef SR_KERNELS_VICREG_H
#define SR_KERNELS_VICREG_H

#include <stdbool.h>

typedef struct {
    double sim_coeff, std_coeff, cov_coeff;
    double gamma, eps; // the deviation each feature is kept above, and what is added to variances
    bool paper;        // the paper's sums; else the means of its published program
} SrVicregParams;

#endif
