// Params of regression_loss.
#ifndef SR_KERNELS_LOSSES_REGRESSION_LOSS_H
#define SR_KERNELS_LOSSES_REGRESSION_LOSS_H

typedef struct { // regression_loss
    double beta; // width of smooth L1: squares below it, absolute values above; 0: squares
} SrRegressionLossParams;

#endif
