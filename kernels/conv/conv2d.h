// Params of conv2d: torch.nn.functional.conv2d over NHWC, weights (K, C/groups, R, S).
#ifndef SR_KERNELS_CONV_CONV2D_H
#define SR_KERNELS_CONV_CONV2D_H

#include <stdbool.h>

#include "kernels/conv/conv_shape.h"

typedef struct { // conv2d
    int out_channels;
    int kernel_h, kernel_w;     // kernel_w 0: as kernel_h
    int stride_h, stride_w;     // stride_h 0: 1; stride_w 0: as stride_h
    int padding_h, padding_w;   // padding_w -1: as padding_h; 0 is 0, so set both
    int dilation_h, dilation_w; // 0: as for stride
    int groups;                 // 0: 1
    bool bias;
    // For passes without gradients: activation of y, applied after a second input of y's shape was
    // added.
    bool relu, silu, hardswish, relu6;
    bool residual;
} SrConv2dParams;

// Returns the params with the values for which 0 and -1 stand.
SrConv2dParams sr__conv2d_resolved(const SrConv2dParams *p);
// Returns the full shape of the convolution of x (N, H, W, C).
SrConvShape sr__conv2d_shape(const SrConv2dParams *p, SrShape x, SrDtype type);

#endif
