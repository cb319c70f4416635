// Builds the convolutions of MobileNetV3.
#include "trunks/mobile/mobilenet_v3_features.h"

#include <stdio.h>

#include "kernels/norm/batch_norm.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"

typedef struct {
    int kernel, wide, out;
    bool gated; // squeeze-excitation
    const char *activation;
    int stride;
    int stage; // timm's
} Block;

// arXiv:1905.02244, tables 1 and 2.
// clang-format off
static const Block large[] = {
    {3, 16, 16, false, "relu", 1, 0},       {3, 64, 24, false, "relu", 2, 1},
    {3, 72, 24, false, "relu", 1, 1},       {5, 72, 40, true, "relu", 2, 2},
    {5, 120, 40, true, "relu", 1, 2},       {5, 120, 40, true, "relu", 1, 2},
    {3, 240, 80, false, "hardswish", 2, 3}, {3, 200, 80, false, "hardswish", 1, 3},
    {3, 184, 80, false, "hardswish", 1, 3}, {3, 184, 80, false, "hardswish", 1, 3},
    {3, 480, 112, true, "hardswish", 1, 4}, {3, 672, 112, true, "hardswish", 1, 4},
    {5, 672, 160, true, "hardswish", 2, 5}, {5, 960, 160, true, "hardswish", 1, 5},
    {5, 960, 160, true, "hardswish", 1, 5}};
static const Block small[] = {
    {3, 16, 16, true, "relu", 2, 0},        {3, 72, 24, false, "relu", 2, 1},
    {3, 88, 24, false, "relu", 1, 1},       {5, 96, 40, true, "hardswish", 2, 2},
    {5, 240, 40, true, "hardswish", 1, 2},  {5, 240, 40, true, "hardswish", 1, 2},
    {5, 120, 48, true, "hardswish", 1, 3},  {5, 144, 48, true, "hardswish", 1, 3},
    {5, 288, 96, true, "hardswish", 2, 4},  {5, 576, 96, true, "hardswish", 1, 4},
    {5, 576, 96, true, "hardswish", 1, 4}};
// clang-format on
static const struct {
    const Block *block;
    int n;
} archs[] = {{large, SR_COUNT(large)}, {small, SR_COUNT(small)}};

int sr_mobilenet_v3_channels(const SrMobilenetV3 *p, int channels) {
    return sr_make_divisible(channels * p->width_multiplier, 8);
}

// Adds timm's layer: a named convolution, the i-th norm of the module, an activation.
static SrNodeId timm_layer(SrBuilder *b, const char *leaf, int i, SrNodeId x, const SrConvNorm *c) {
    SrConv2dParams conv = {.out_channels = c->channels,
                           .kernel_h = c->kernel,
                           .stride_h = c->stride,
                           .padding_h = c->kernel / 2,
                           .padding_w = -1,
                           .groups = SR_MAX(c->groups, 1)};
    char name[16];
    snprintf(name, sizeof name, "bn%d", i);
    sr_conv_kaiming(b, &conv);
    x = sr_build(b, "conv2d", leaf, &conv, x);
    x = sr_build(b, "batch_norm", name,
                 &(SrBatchNormParams){.eps = c->eps, .momentum = c->momentum}, x);
    return c->activation ? sr_build(b, c->activation, "act", NULL, x) : x;
}

// Adds layer *i of a block, counted from 0; `leaf` is timm's name of the convolution.
static SrNodeId layer(SrBuilder *b, const SrMobilenetV3 *p, int *i, const char *leaf, SrNodeId x,
                      SrConvNorm c) {
    c.eps = p->eps;
    c.momentum = p->momentum;
    int at = (*i)++;
    return p->timm ? timm_layer(b, leaf, at + 1, x, &c) : sr_conv_norm(b, sr_leaf(at).s, x, &c);
}

static SrNodeId timm_gate(SrBuilder *b, SrNodeId x, int squeeze) {
    int channels = sr_shape_last(sr_build_shape(b, x));
    SrConv2dParams point = {.kernel_h = 1, .padding_w = -1, .groups = 1, .bias = true};
    sr_builder_push_block(b, "se", "SqueezeExcite");
    SrNodeId s = sr_build(b, "adaptive_avg_pool2d", "mean", &(SrAdaptivePool2dParams){0}, x);
    point.out_channels = squeeze;
    sr_conv_kaiming(b, &point);
    s = sr_build(b, "relu", "act1", NULL, sr_build(b, "conv2d", "conv_reduce", &point, s));
    point.out_channels = channels;
    sr_conv_kaiming(b, &point);
    s = sr_build(b, "hardsigmoid", "gate", NULL, sr_build(b, "conv2d", "conv_expand", &point, s));
    x = sr_build_n(b, "mul", "mul", NULL, (SrNodeId[]){x, s}, 2);
    sr_builder_pop(b);
    return x;
}

static SrNodeId gate(SrBuilder *b, const SrMobilenetV3 *p, int *i, SrNodeId x, int squeeze) {
    if (p->timm)
        return timm_gate(b, x, squeeze);
    return sr_squeeze_excitation(b, sr_leaf((*i)++).s, x,
                                 &(SrSqueezeExcitation){squeeze, "relu", "hardsigmoid"});
}

// Returns whether a block starts with a 1x1 convolution: timm decides by the kind of block,
// torchvision by the widths.
static SrNodeId branch(SrBuilder *b, const SrMobilenetV3 *p, const Block *t, SrNodeId x) {
    int i = 0, wide = sr_mobilenet_v3_channels(p, t->wide),
        in = sr_shape_last(sr_build_shape(b, x));
    bool expands = p->timm ? t->stage > 0 : wide != in;
    if (expands)
        x = layer(b, p, &i, "conv_pw", x,
                  (SrConvNorm){.channels = wide, .kernel = 1, .activation = t->activation});
    x = layer(b, p, &i, "conv_dw", x,
              (SrConvNorm){.channels = wide,
                           .kernel = t->kernel,
                           .stride = t->stride,
                           .groups = wide,
                           .activation = t->activation});
    if (t->gated)
        x = gate(b, p, &i, x, sr_make_divisible(wide / 4, 8));
    return layer(b, p, &i, expands ? "conv_pwl" : "conv_pw", x,
                 (SrConvNorm){.channels = sr_mobilenet_v3_channels(p, t->out), .kernel = 1});
}

static SrNodeId block(SrBuilder *b, const SrMobilenetV3 *p, const Block *t, SrNodeId x) {
    bool residual = t->stride == 1 &&
                    sr_shape_last(sr_build_shape(b, x)) == sr_mobilenet_v3_channels(p, t->out);
    SrNodeId sum[2] = {SR_NO_NODE, x};
    if (!p->timm)
        sr_builder_push_block(b, "block", "Sequential");
    sum[0] = branch(b, p, t, x);
    if (!p->timm)
        sr_builder_pop(b);
    return residual ? sr_build_n(b, "add", "add", NULL, sum, 2) : sum[0];
}

// Builds all blocks.  *index: timm's next index.  An index names the last layer before the next
// stride; the last convolution belongs to the last resolution.
static SrNodeId blocks(SrBuilder *b, const SrMobilenetV3 *p, SrNodeId x, int *index) {
    int n = archs[p->arch].n, of_stage = 0;
    for (int i = 0; i < n; i++) {
        const Block *t = &archs[p->arch].block[i];
        of_stage = i > 0 && t[-1].stage == t->stage ? of_stage + 1 : 0;
        if (p->timm)
            sr_builder_push_numbered(b, "InvertedResidual", "%d.%d", t->stage, of_stage);
        else
            sr_builder_push_numbered(b, "InvertedResidual", "%d", i + 1);
        x = block(b, p, t, x);
        sr_builder_pop(b);
        if (i + 1 < n && t[1].stride > 1)
            sr_build_alias_numbered(b, x, "%d", (*index)++);
    }
    return x;
}

SrNodeId sr_mobilenet_v3_features(SrBuilder *b, const SrMobilenetV3 *p, SrNodeId x) {
    int i = 0, index = 0;
    SrConvNorm stem = {.channels = sr_mobilenet_v3_channels(p, 16),
                       .kernel = 3,
                       .stride = 2,
                       .activation = "hardswish"};
    if (!p->timm)
        sr_builder_push_block(b, "features", "Sequential");
    x = layer(b, p, &i, "conv_stem", x, stem);
    if (archs[p->arch].block[0].stride > 1)
        sr_build_alias_numbered(b, x, "%d", index++);
    if (p->timm)
        sr_builder_push_block(b, "blocks", "Sequential");
    x = blocks(b, p, x, &index);
    SrConvNorm last = {.channels = 6 * sr_shape_last(sr_build_shape(b, x)),
                       .kernel = 1,
                       .activation = "hardswish"};
    if (p->timm)
        sr_builder_push_block(b, p->arch == SR_MOBILENET_V3_LARGE ? "6.0" : "5.0", "ConvBnAct");
    i = p->timm ? 0 : archs[p->arch].n + 1;
    x = layer(b, p, &i, "conv", x, last);
    sr_build_alias_numbered(b, x, "%d", index);
    if (p->timm)
        sr_builder_pop(b);
    sr_builder_pop(b);
    return x;
}
