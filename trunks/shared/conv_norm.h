// Building blocks of convolutional nets; most are torchvision.ops.misc's, with its names.
#ifndef SR_TRUNKS_SHARED_CONV_NORM_H
#define SR_TRUNKS_SHARED_CONV_NORM_H

#include "graph/ir/builder.h"
#include "kernels/conv/conv2d.h"

// Adds a convolution without bias whose padding keeps the size at stride 1.
// x: (N, H, W, C) -> (N, ceil(H / stride), ceil(W / stride), channels)
SrNodeId sr_conv(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel, int stride,
                 int groups);

// Adds a convolution with a bias.
SrNodeId sr_conv_bias(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel,
                      int stride, int padding);

// Initialises the next convolution like torch.nn.init.kaiming_normal_(mode="fan_out"); its bias
// is 0.
void sr_conv_kaiming(SrBuilder *b, const SrConv2dParams *p);

// torchvision.ops.Conv2dNormActivation: nodes <scope>.0 (convolution without bias), .1 (batch
// norm) and .2 (activation).  Padding keeps the size at stride 1.
typedef struct {
    int channels, kernel;
    int kernel_w;                 // 0: as `kernel`, which is the height
    int stride, dilation, groups; // 0: 1
    bool unpadded;                // true: no padding
    const char *activation;       // name of an op: "relu", "silu"; NULL: none
    double eps, momentum;         // of the norm; an epsilon of 0: PyTorch's 1e-5 and 0.1
    double deviation;             // of the initial weights; 0: sqrt(2 / fan_out)
    const char *class_name;       // of the block; NULL: "Conv2dNormActivation"
} SrConvNorm;
// x: (N, H, W, C) -> (N, ceil(H / stride), ceil(W / stride), channels)
SrNodeId sr_conv_norm(SrBuilder *b, const char *scope, SrNodeId x, const SrConvNorm *p);

// Adds these nodes under names of their own, without a module around them.
SrNodeId sr_conv_norm_named(SrBuilder *b, const char *conv, const char *norm,
                            const char *activation, SrNodeId x, const SrConvNorm *p);
// Adds these nodes as <i>, <i + 1> and <i + 2> of the builder's scope.
SrNodeId sr_conv_norm_flat(SrBuilder *b, int i, SrNodeId x, const SrConvNorm *p);

// torchvision.ops.SqueezeExcitation (Hu et al., arXiv:1709.01507): x times one gate per channel.
// Two 1x1 convolutions compute the gates from the channels' means.
typedef struct {
    int squeeze;            // channels between the two convolutions
    const char *activation; // op after the first convolution
    const char *gate;       // op after the second: "sigmoid", "hardsigmoid"
    double deviation;       // of the initial weights; 0: sqrt(2 / fan_out)
    // (6) Names of the class, the mean, the first convolution, its activation, the second one and
    // its gate.  NULL: torchvision's.  Without a class there is no scope.
    const char *const *names;
} SrSqueezeExcitation;
SrNodeId sr_squeeze_excitation(SrBuilder *b, const char *scope, SrNodeId x,
                               const SrSqueezeExcitation *p);

// Adds <scope>.stochastic_depth with mode "row"; a negative p adds nothing and returns x.
SrNodeId sr_stochastic_depth(SrBuilder *b, const char *scope, SrNodeId x, double p);

// Returns the multiple of `divisor` nearest to v, at least 0.9 v and at least the divisor
// (MobileNet's rule).
int sr_make_divisible(double v, int divisor);

// Adds a linear layer with normal initial weights and bias 0; deviation 0: PyTorch's
// initialisation.
SrNodeId sr_linear_normal(SrBuilder *b, const char *leaf, SrNodeId x, int out_features,
                          double deviation);

// Gives the name of module i of a torch.nn.Sequential: sr_leaf(3).s is "3".
typedef struct {
    char s[16];
} SrLeaf;
SrLeaf sr_leaf(int i);

SrNodeId sr_dropout(SrBuilder *b, const char *leaf, SrNodeId x, double p);

// Adds the usual end: (N, H, W, C) -> avgpool -> flatten (N, C), with the aliases "flatten" and,
// unless NULL, `average`.
SrNodeId sr_pool_flatten(SrBuilder *b, SrNodeId x, const char *average);
// Adds this end with a pooling named `leaf` instead of "avgpool".
SrNodeId sr_pool_flatten_named(SrBuilder *b, SrNodeId x, const char *leaf, const char *average);

#endif
