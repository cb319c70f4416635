// Params of normed_depthwise.
#ifndef SR_KERNELS_CONV_NORMED_DEPTHWISE_H
#define SR_KERNELS_CONV_NORMED_DEPTHWISE_H

#include <stdbool.h>

#include "kernels/conv/conv2d.h"
#include "kernels/norm/batch_norm_params.h"

typedef struct {            // normed_depthwise, on (N, H, W, C)
    SrBatchNormParams norm; // without residual and activation: its switches stand for what follows
    int activation;         // SrBatchNormActivation between norm and convolution
    int kernel_h, kernel_w; // at most 7 rows; 3, 5 or 7 columns
    int stride_h, stride_w; // 1 or 2
    int padding_h, padding_w; // zeros around the activated map
} SrNormedDepthwiseParams;

// Writes the params of a norm, which may have an activation, and of the depthwise convolution that
// reads it.  Returns false if the op cannot do their work.
bool sr_normed_depthwise_of(const SrBatchNormParams *norm, const SrConv2dParams *conv,
                            SrNormedDepthwiseParams *to);

#endif
