// BasicConv2d of torchvision's Inception nets: nodes conv (without bias), bn and relu of a module.
#ifndef SR_TRUNKS_CLASSIC_BASIC_CONV_H
#define SR_TRUNKS_CLASSIC_BASIC_CONV_H

#include "graph/ir/builder.h"

typedef struct {
    int channels;
    int kernel_h, kernel_w; // kernel_w 0: as kernel_h
    int stride;             // 0: 1
    bool same;              // padding that keeps the size at stride 1; false: none
    double deviation;       // standard deviation of the initial weights
} SrBasicConv;
// x: (N, H, W, C) -> (N, H', W', channels)
SrNodeId sr_basic_conv(SrBuilder *b, const char *scope, SrNodeId x, const SrBasicConv *p);

// torchvision's transform_input: converts images normalised by ImageNet's mean and deviation to
// mean and deviation 0.5, which the published weights were trained with.
SrNodeId sr_inception_input(SrBuilder *b, SrNodeId x);

#endif
