// Params of mask_weights.
#ifndef SR_KERNELS_MASK_WEIGHTS_H
#define SR_KERNELS_MASK_WEIGHTS_H

enum { SR_MASK_IMAGE, SR_MASK_BATCH };
typedef struct { // mask_weights
    int over;    // whose sum of weights is 1 / M: each image's; or the batch's is 1
} SrMaskWeightsParams;

#endif
