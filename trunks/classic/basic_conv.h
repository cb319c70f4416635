// BasicConv2d of torchvision's Inception nets: nodes conv (without bias), bn and relu of a module.
#ifndef SR_TRUNKS_CLASSIC_BASIC_CONV_H
#define SR_TRUNKS_CLASSIC_BASIC_CONV_H

#include "trunks/shared/conv_norm.h"

// Uses the sizes, padding and deviation of p.  x: (N, H, W, C) -> (N, H', W', channels)
SrNodeId sr_basic_conv(SrBuilder *b, const char *scope, SrNodeId x, SrConvNorm p);

// Adds a linear layer with normal weights, whose bias keeps PyTorch's initialisation.
SrNodeId sr_basic_linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features,
                         double deviation);

// torchvision's transform_input: converts images normalised by ImageNet's mean and deviation to
// mean and deviation 0.5, which the published weights were trained with.
SrNodeId sr_inception_input(SrBuilder *b, SrNodeId x);

#endif
