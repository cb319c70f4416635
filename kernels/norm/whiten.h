// Params of whiten.
#ifndef SR_KERNELS_NORM_WHITEN_H
#define SR_KERNELS_NORM_WHITEN_H

typedef struct {
    int rows;   // rows of one group, which is whitened by its own covariance
    double eps; // share of the identity in the covariance
} SrWhitenParams;

#endif
