// Builds the blocks that torchvision's convolutional nets share.
#include "trunks/shared/conv_norm.h"

#include <math.h>
#include <stdio.h>

#include "kernels/basic/dropout.h"
#include "kernels/basic/linear.h"
#include "kernels/basic/stochastic_depth.h"
#include "kernels/norm/batch_norm.h"
#include "kernels/pool/pool2d.h"

SrNodeId sr_conv(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel, int stride,
                 int groups) {
    SrConv2dParams p = {.out_channels = channels,
                        .kernel_h = kernel,
                        .stride_h = stride,
                        .padding_h = kernel / 2,
                        .padding_w = -1,
                        .dilation_h = 1,
                        .groups = groups};
    return sr_build(b, "conv2d", leaf, &p, x);
}

SrNodeId sr_conv_bias(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel,
                      int stride, int padding) {
    SrConv2dParams p = {.out_channels = channels,
                        .kernel_h = kernel,
                        .stride_h = stride,
                        .padding_h = padding,
                        .padding_w = -1,
                        .dilation_h = 1,
                        .groups = 1,
                        .bias = true};
    return sr_build(b, "conv2d", leaf, &p, x);
}

void sr_conv_kaiming(SrBuilder *b, const SrConv2dParams *p) {
    double fan_out = (double)p->out_channels * p->kernel_h * p->kernel_h; // K R S
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, sqrt(2 / fan_out)});
    if (p->bias)
        sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
}

// A deviation of 0 means sqrt(2 / fan_out).
static void init(SrBuilder *b, const SrConv2dParams *p, double deviation) {
    sr_conv_kaiming(b, p);
    if (deviation > 0)
        sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, deviation});
}

SrNodeId sr_conv_norm_named(SrBuilder *b, const char *conv, const char *norm,
                            const char *activation, SrNodeId x, const SrConvNorm *p) {
    int dilation = SR_MAX(p->dilation, 1), half = p->unpadded ? 0 : dilation;
    SrConv2dParams window = {.out_channels = p->channels,
                             .kernel_h = p->kernel,
                             .kernel_w = p->kernel_w,
                             .stride_h = p->stride,
                             .padding_h = (p->kernel - 1) / 2 * half,
                             .padding_w = p->kernel_w ? (p->kernel_w - 1) / 2 * half : -1,
                             .dilation_h = dilation,
                             .groups = SR_MAX(p->groups, 1)};
    SrBatchNormParams given = {.eps = p->eps, .momentum = p->momentum};
    init(b, &window, p->deviation);
    x = sr_build(b, "conv2d", conv, &window, x);
    x = sr_build(b, "batch_norm", norm, p->eps > 0 ? &given : NULL, x);
    return p->activation ? sr_build(b, p->activation, activation, NULL, x) : x;
}

SrNodeId sr_conv_norm_flat(SrBuilder *b, int i, SrNodeId x, const SrConvNorm *p) {
    return sr_conv_norm_named(b, sr_leaf(i).s, sr_leaf(i + 1).s, sr_leaf(i + 2).s, x, p);
}

SrNodeId sr_conv_norm(SrBuilder *b, const char *scope, SrNodeId x, const SrConvNorm *p) {
    sr_builder_push_block(b, scope, p->class_name ? p->class_name : "Conv2dNormActivation");
    x = sr_conv_norm_flat(b, 0, x, p);
    sr_builder_pop(b);
    return x;
}

static SrNodeId point(SrBuilder *b, const char *leaf, SrNodeId x, int channels, double deviation) {
    init(b, &(SrConv2dParams){.out_channels = channels, .kernel_h = 1, .bias = true}, deviation);
    return sr_conv_bias(b, leaf, x, channels, 1, 1, 0);
}

SrNodeId sr_squeeze_excitation(SrBuilder *b, const char *scope, SrNodeId x,
                               const SrSqueezeExcitation *p) {
    static const char *const torchvision[] = {"SqueezeExcitation", "avgpool", "fc1",
                                              "activation",        "fc2",     "scale_activation"};
    const char *const *names = p->names ? p->names : torchvision;
    int channels = sr_shape_last(sr_build_shape(b, x));
    if (names[0])
        sr_builder_push_block(b, scope, names[0]);
    SrNodeId s = sr_build(b, "adaptive_avg_pool2d", names[1], &(SrAdaptivePool2dParams){0}, x);
    s = point(b, names[2], s, p->squeeze, p->deviation);
    s = sr_build(b, p->activation, names[3], NULL, s);
    s = point(b, names[4], s, channels, p->deviation);
    s = sr_build(b, p->gate, names[5], NULL, s);
    x = sr_build_n(b, "mul", "mul", NULL, (SrNodeId[]){x, s}, 2);
    if (names[0])
        sr_builder_pop(b);
    return x;
}

SrNodeId sr_stochastic_depth(SrBuilder *b, const char *scope, SrNodeId x, double p) {
    if (p < 0)
        return x;
    sr_builder_push_block(b, scope, "StochasticDepth");
    x = sr_build(b, "stochastic_depth", "stochastic_depth", &(SrStochasticDepthParams){.p = p}, x);
    sr_builder_pop(b);
    return x;
}

int sr_make_divisible(double v, int divisor) {
    int nearest = (int)(v + divisor / 2.0) / divisor * divisor;
    int out = SR_MAX(divisor, nearest);
    return out < 0.9 * v ? out + divisor : out;
}

SrNodeId sr_linear_normal(SrBuilder *b, const char *leaf, SrNodeId x, int out_features,
                          double deviation) {
    if (deviation > 0) {
        sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, deviation});
        sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    }
    return sr_build(b, "linear", leaf,
                    &(SrLinearParams){.out_features = out_features, .bias = true}, x);
}

SrLeaf sr_leaf(int i) {
    SrLeaf leaf;
    snprintf(leaf.s, sizeof leaf.s, "%d", i);
    return leaf;
}

SrNodeId sr_dropout(SrBuilder *b, const char *leaf, SrNodeId x, double p) {
    return sr_build(b, "dropout", leaf, &(SrDropoutParams){p}, x);
}

SrNodeId sr_pool_flatten_named(SrBuilder *b, SrNodeId x, const char *leaf, const char *average) {
    x = sr_build(b, "adaptive_avg_pool2d", leaf, &(SrAdaptivePool2dParams){0}, x);
    if (average)
        sr_build_alias(b, average, x);
    x = sr_build(b, "flatten", "flatten", NULL, x);
    sr_build_alias(b, "flatten", x);
    return x;
}

SrNodeId sr_pool_flatten(SrBuilder *b, SrNodeId x, const char *average) {
    return sr_pool_flatten_named(b, x, "avgpool", average);
}
