// MobileNetV3 large and small (Howard et al., arXiv:1905.02244) with torchvision's layers and names.
#include <stdio.h>

#include "trunks/conv_norm.h"
#include "trunks/trunk.h"

typedef struct {
    int arch;
    double width_multiplier, dropout;
} MobilenetV3;

#define FIELD(f) offsetof(MobilenetV3, f)
static const SrOption options[] = {
    {"ARCH", SR_OPT_ENUM, FIELD(arch), "large", 0, 0, "large|small", "Which net."},
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, FIELD(width_multiplier), "1", 0.0625, 16, NULL,
     "Factor on the channels of every layer."},
    {"DROPOUT", SR_OPT_FLOAT, FIELD(dropout), "0.2", 0, 0.99, NULL, "Before the classifier."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    int kernel, wide, out;
    bool gated; // squeeze-excitation
    const char *activation;
    int stride;
} Block;

// arXiv:1905.02244, tables 1 and 2.
// clang-format off
static const Block large[] = {
    {3, 16, 16, false, "relu", 1},       {3, 64, 24, false, "relu", 2},       {3, 72, 24, false, "relu", 1},
    {5, 72, 40, true, "relu", 2},        {5, 120, 40, true, "relu", 1},       {5, 120, 40, true, "relu", 1},
    {3, 240, 80, false, "hardswish", 2}, {3, 200, 80, false, "hardswish", 1}, {3, 184, 80, false, "hardswish", 1},
    {3, 184, 80, false, "hardswish", 1}, {3, 480, 112, true, "hardswish", 1}, {3, 672, 112, true, "hardswish", 1},
    {5, 672, 160, true, "hardswish", 2}, {5, 960, 160, true, "hardswish", 1}, {5, 960, 160, true, "hardswish", 1}};
static const Block small[] = {
    {3, 16, 16, true, "relu", 2},        {3, 72, 24, false, "relu", 2},       {3, 88, 24, false, "relu", 1},
    {5, 96, 40, true, "hardswish", 2},   {5, 240, 40, true, "hardswish", 1},  {5, 240, 40, true, "hardswish", 1},
    {5, 120, 48, true, "hardswish", 1},  {5, 144, 48, true, "hardswish", 1},  {5, 288, 96, true, "hardswish", 2},
    {5, 576, 96, true, "hardswish", 1},  {5, 576, 96, true, "hardswish", 1}};
// clang-format on
static const struct {
    const Block *block;
    int n, last; // features of the classifier's hidden layer
} archs[] = {{large, SR_COUNT(large), 1280}, {small, SR_COUNT(small), 1024}};

static int adjusted(const MobilenetV3 *p, int channels) {
    return sr_make_divisible(channels * p->width_multiplier, 8);
}

static SrNodeId conv(SrBuilder *b, int i, SrNodeId x, SrConvNorm c) {
    char scope[16];
    snprintf(scope, sizeof scope, "%d", i);
    c.eps = 1e-3;
    c.momentum = 0.01;
    return sr_conv_norm(b, scope, x, &c);
}

static SrNodeId branch(SrBuilder *b, const MobilenetV3 *p, const Block *t, SrNodeId x) {
    int i = 0, wide = adjusted(p, t->wide);
    char scope[16];
    sr_builder_push_block(b, "block", "Sequential");
    if (wide != sr_shape_last(sr_build_shape(b, x)))
        x = conv(b, i++, x,
                 (SrConvNorm){.channels = wide, .kernel = 1, .activation = t->activation});
    x = conv(b, i++, x,
             (SrConvNorm){.channels = wide,
                          .kernel = t->kernel,
                          .stride = t->stride,
                          .groups = wide,
                          .activation = t->activation});
    snprintf(scope, sizeof scope, "%d", i);
    if (t->gated) {
        SrSqueezeExcitation se = {sr_make_divisible(wide / 4, 8), "relu", "hardsigmoid"};
        x = sr_squeeze_excitation(b, scope, x, &se);
        i++;
    }
    x = conv(b, i, x, (SrConvNorm){.channels = adjusted(p, t->out), .kernel = 1});
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const MobilenetV3 *p, const Block *t, SrNodeId x) {
    bool residual = t->stride == 1 && sr_shape_last(sr_build_shape(b, x)) == adjusted(p, t->out);
    SrNodeId sum[2] = {SR_NO_NODE, x};
    sum[0] = branch(b, p, t, x);
    return residual ? sr_build_n(b, "add", "add", NULL, sum, 2) : sum[0];
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const MobilenetV3 *p = params;
    int n = archs[p->arch].n, index = 0;
    sr_builder_push_block(b, "features", "Sequential");
    SrNodeId x =
        conv(b, 0, in->image,
             (SrConvNorm){
                 .channels = adjusted(p, 16), .kernel = 3, .stride = 2, .activation = "hardswish"});
    for (int i = 0; i < n; i++) {
        const Block *t = &archs[p->arch].block[i];
        char scope[16];
        snprintf(scope, sizeof scope, "%d", i + 1);
        sr_builder_push_block(b, scope, "InvertedResidual");
        x = block(b, p, t, x);
        sr_builder_pop(b);
        if (i + 1 < n && t[1].stride == 1)
            continue;
        snprintf(scope, sizeof scope, "%d", index++); // timm's: the last of each resolution
        sr_build_alias(b, scope, x);
    }
    int channels = 6 * sr_shape_last(sr_build_shape(b, x));
    x = conv(b, n + 1, x,
             (SrConvNorm){.channels = channels, .kernel = 1, .activation = "hardswish"});
    sr_builder_pop(b);
    out->map = x;
    out->pooled = sr_pool_flatten(b, x, NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const MobilenetV3 *p = params;
    sr_builder_push_block(b, "classifier", "Sequential");
    SrNodeId x = sr_linear_normal(b, "0", features->pooled, adjusted(p, archs[p->arch].last), 0.01);
    x = sr_build(b, "hardswish", "1", NULL, x);
    x = sr_dropout(b, "2", x, p->dropout);
    *logits = sr_linear_normal(b, "3", x, preset->classes, 0.01);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {
    {"mobilenet_v3_large", "{ARCH: large}", "classifier.3", 1000},
    {"mobilenet_v3_small", "{ARCH: small}", "classifier.3", 1000},
};

static const SrTrunkExample examples[] = {{"{ARCH: small, WIDTH_MULTIPLIER: 0.25}", 32, 48}};

const SrTrunk sr_trunk_torchvision_mobilenet_v3 = {
    .name = "torchvision_mobilenet_v3",
    .help = "torchvision's MobileNetV3 large and small",
    .subtree = "MODEL.TRUNK.TORCHVISION_MOBILENET_V3",
    .options = options,
    .params_bytes = sizeof(MobilenetV3),
    .param_prefix = "",
    .build = build,
    .presets = presets,
    .n_presets = SR_COUNT(presets),
    .classify = classify,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
