// Params of frobenius_log.
#ifndef SR_KERNELS_LOSSES_FROBENIUS_LOG_H
#define SR_KERNELS_LOSSES_FROBENIUS_LOG_H

typedef struct {   // frobenius_log
    int num_views; // views per image; rows of x are view-major
} SrFrobeniusLogParams;

#endif
