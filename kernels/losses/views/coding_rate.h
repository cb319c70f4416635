// Params of coding_rate.
#ifndef SR_KERNELS_LOSSES_VIEWS_CODING_RATE_H
#define SR_KERNELS_LOSSES_VIEWS_CODING_RATE_H

typedef struct {   // coding_rate
    int num_views; // views per image; rows of x are view-major
    double eps;    // squared precision of the code
} SrCodingRateParams;

#endif
