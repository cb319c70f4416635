// Params of mask_weights.
#ifndef SR_KERNELS_TOKENS_MASK_WEIGHTS_H
#define SR_KERNELS_TOKENS_MASK_WEIGHTS_H

enum { SR_MASK_IMAGE, SR_MASK_BATCH };
typedef struct { // mask_weights
    // SR_MASK_IMAGE: the weights of each image sum to 1 / M; SR_MASK_BATCH: those of the batch to 1
    int over;
} SrMaskWeightsParams;

#endif
