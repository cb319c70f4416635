// The building blocks of torchvision.ops.misc that its newer convolutional nets share, with its names.
#ifndef SR_TRUNKS_CONV_NORM_H
#define SR_TRUNKS_CONV_NORM_H

#include "graph/builder.h"
#include "kernels/conv2d.h"

// The next convolution is drawn as torch.nn.init.kaiming_normal_(mode="fan_out") does, its bias is 0.
void sr_conv_kaiming(SrBuilder *b, const SrConv2dParams *p);

// torchvision.ops.Conv2dNormActivation: nodes <scope>.0 (convolution without bias), .1 (batch norm) and .2
// (activation).  Padding keeps the size at stride 1; weights are normal with deviation sqrt(2 / fan_out).
typedef struct {
    int channels, kernel;
    int stride, dilation, groups; // 0: 1
    const char *activation;       // op: "relu", "silu"; NULL: none
    double eps, momentum;         // of the norm; 0: PyTorch's 1e-5 and 0.1
} SrConvNorm;
// x: (N, H, W, C) -> (N, ceil(H / stride), ceil(W / stride), channels)
SrNodeId sr_conv_norm(SrBuilder *b, const char *scope, SrNodeId x, const SrConvNorm *p);

// The same without activation and without a scope: nodes <i> and <i + 1> of the present one.
SrNodeId sr_conv_norm_flat(SrBuilder *b, int i, SrNodeId x, const SrConvNorm *p);

// torchvision.ops.SqueezeExcitation (Hu et al., arXiv:1709.01507): x times a gate a channel, which two
// 1x1 convolutions make of the channels' means.
typedef struct {
    int squeeze;            // channels in between
    const char *activation; // op after the first
    const char *gate;       // op after the second: "sigmoid", "hardsigmoid"
} SrSqueezeExcitation;
SrNodeId sr_squeeze_excitation(SrBuilder *b, const char *scope, SrNodeId x,
                               const SrSqueezeExcitation *p);

// <scope>.stochastic_depth in a block of that class, mode "row"; x itself is returned where p is negative.
SrNodeId sr_stochastic_depth(SrBuilder *b, const char *scope, SrNodeId x, double p);

// The multiple of `divisor` nearest to v, but not below 0.9 v nor below the divisor (MobileNet's rule).
int sr_make_divisible(double v, int divisor);

// A linear layer with normal weights and a bias of 0; deviation 0: PyTorch's own initialisation.
SrNodeId sr_linear_normal(SrBuilder *b, const char *leaf, SrNodeId x, int out_features,
                          double deviation);
// The name of the next module of a torch.nn.Sequential, "0", "1", ..., in leaf, which is returned; *at counts.
const char *sr_next_module(char leaf[16], int *at);
SrNodeId sr_dropout(SrBuilder *b, const char *leaf, SrNodeId x, double p);

// What most of them end in: (N, H, W, C) -> avgpool -> flatten (N, C), with the aliases "flatten" and, where
// given, `average`.
SrNodeId sr_pool_flatten(SrBuilder *b, SrNodeId x, const char *average);
// The same where the pooling is called `leaf` instead of "avgpool".
SrNodeId sr_pool_flatten_named(SrBuilder *b, SrNodeId x, const char *leaf, const char *average);

#endif
