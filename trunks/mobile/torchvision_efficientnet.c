// EfficientNet (Tan and Le, arXiv:1905.11946) and EfficientNetV2 (arXiv:2104.00298) with
// torchvision's layers and names.  The trunk efficientnet has VISSL's names.
#include <math.h>

#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    int arch;
    double width_multiplier, stochastic_depth, dropout;
} Efficientnet;

#define FIELD(f) offsetof(Efficientnet, f)
static const SrOption options[] = {
    {"ARCH", SR_OPT_ENUM, FIELD(arch), "b0", .choices = "b0|b1|b2|b3|b4|b5|b6|b7|v2_s|v2_m|v2_l",
     .help = "Name of the net."},
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, FIELD(width_multiplier), "1", 0.0625, 16,
     .help = "Further factor on the channels of all layers; a fraction makes a smaller net."},
    {"STOCHASTIC_DEPTH", SR_OPT_FLOAT, FIELD(stochastic_depth), "0.2", 0, 0.99,
     .help = "Probability of leaving out the last block; earlier ones have proportionally less."},
    SR_ROW_DROPOUT("0.2"),
    SR_OPTION_END,
};
#undef FIELD

typedef struct { // a stage: arXiv:1905.11946 table 1, arXiv:2104.00298 table 4
    bool fused;  // true: one 3x3 convolution replaces 1x1 and depthwise
    int expand, kernel, stride, in, out, blocks;
} Stage;

enum { STAGES = 7 };
typedef struct {
    double width, depth;
    double eps, momentum;
    int last; // channels of the last convolution; 0: four times the last stage's
    int n_stages;
    const Stage *stage;
} Arch;

// clang-format off
static const Stage b_stages[STAGES] = {
    {false, 1, 3, 1, 32, 16, 1}, {false, 6, 3, 2, 16, 24, 2}, {false, 6, 5, 2, 24, 40, 2}, {false, 6, 3, 2, 40, 80, 3},
    {false, 6, 5, 1, 80, 112, 3}, {false, 6, 5, 2, 112, 192, 4}, {false, 6, 3, 1, 192, 320, 1}};
static const Stage s_stages[] = {
    {true, 1, 3, 1, 24, 24, 2}, {true, 4, 3, 2, 24, 48, 4}, {true, 4, 3, 2, 48, 64, 4}, {false, 4, 3, 2, 64, 128, 6},
    {false, 6, 3, 1, 128, 160, 9}, {false, 6, 3, 2, 160, 256, 15}};
static const Stage m_stages[] = {
    {true, 1, 3, 1, 24, 24, 3}, {true, 4, 3, 2, 24, 48, 5}, {true, 4, 3, 2, 48, 80, 5}, {false, 4, 3, 2, 80, 160, 7},
    {false, 6, 3, 1, 160, 176, 14}, {false, 6, 3, 2, 176, 304, 18}, {false, 6, 3, 1, 304, 512, 5}};
static const Stage l_stages[] = {
    {true, 1, 3, 1, 32, 32, 4}, {true, 4, 3, 2, 32, 64, 7}, {true, 4, 3, 2, 64, 96, 7}, {false, 4, 3, 2, 96, 192, 10},
    {false, 6, 3, 1, 192, 224, 19}, {false, 6, 3, 2, 224, 384, 25}, {false, 6, 3, 1, 384, 640, 7}};
static const Arch archs[] = {
    {1.0, 1.0, 1e-5, 0.1, 0, STAGES, b_stages},  {1.0, 1.1, 1e-5, 0.1, 0, STAGES, b_stages},
    {1.1, 1.2, 1e-5, 0.1, 0, STAGES, b_stages},  {1.2, 1.4, 1e-5, 0.1, 0, STAGES, b_stages},
    {1.4, 1.8, 1e-5, 0.1, 0, STAGES, b_stages},  {1.6, 2.2, 1e-3, 0.01, 0, STAGES, b_stages},
    {1.8, 2.6, 1e-3, 0.01, 0, STAGES, b_stages}, {2.0, 3.1, 1e-3, 0.01, 0, STAGES, b_stages},
    {1, 1, 1e-3, 0.1, 1280, SR_COUNT(s_stages), s_stages},
    {1, 1, 1e-3, 0.1, 1280, SR_COUNT(m_stages), m_stages},
    {1, 1, 1e-3, 0.1, 1280, SR_COUNT(l_stages), l_stages}};
// clang-format on

typedef struct {
    const Efficientnet *options;
    const Arch *arch;
    int total, done; // number of blocks in all, and built so far
} Net;

static int channels_of(const Net *net, int channels) {
    return sr_make_divisible(channels * net->arch->width * net->options->width_multiplier, 8);
}

// torchvision scales the depths of version 1 only; version 2 lists its own.
static int blocks_of(const Net *net, const Stage *s) {
    return (int)ceil(s->blocks * net->arch->depth);
}

// Writes the name of the next module, "block.<i>".
static SrNodeId conv(SrBuilder *b, const Net *net, int *i, SrNodeId x, SrConvNorm p) {
    p.eps = net->arch->eps;
    p.momentum = net->arch->momentum;
    return sr_conv_norm(b, sr_leaf((*i)++).s, x, &p);
}

static SrNodeId mb_branch(SrBuilder *b, const Net *net, const Stage *s, SrNodeId x, int channels,
                          int stride) {
    int i = 0, in = sr_shape_last(sr_build_shape(b, x));
    int wide = sr_make_divisible(in * s->expand, 8);
    SrSqueezeExcitation gate = {SR_MAX(1, in / 4), "silu", "sigmoid", .names = NULL};
    if (wide != in)
        x = conv(b, net, &i, x, (SrConvNorm){.channels = wide, .kernel = 1, .activation = "silu"});
    x = conv(b, net, &i, x,
             (SrConvNorm){.channels = wide,
                          .kernel = s->kernel,
                          .stride = stride,
                          .groups = wide,
                          .activation = "silu"});
    x = sr_squeeze_excitation(b, sr_leaf(i++).s, x, &gate);
    return conv(b, net, &i, x, (SrConvNorm){.channels = channels, .kernel = 1});
}

static SrNodeId fused_branch(SrBuilder *b, const Net *net, const Stage *s, SrNodeId x, int channels,
                             int stride) {
    int i = 0, in = sr_shape_last(sr_build_shape(b, x));
    int wide = sr_make_divisible(in * s->expand, 8);
    SrConvNorm first = {.channels = wide != in ? wide : channels,
                        .kernel = s->kernel,
                        .stride = stride,
                        .activation = "silu"};
    x = conv(b, net, &i, x, first);
    return wide != in ? conv(b, net, &i, x, (SrConvNorm){.channels = channels, .kernel = 1}) : x;
}

static SrNodeId block(SrBuilder *b, Net *net, const Stage *s, SrNodeId x, int channels,
                      int stride) {
    double p = net->options->stochastic_depth * net->done++ / net->total;
    bool residual = stride == 1 && sr_shape_last(sr_build_shape(b, x)) == channels;
    SrNodeId sum[2] = {SR_NO_NODE, x};
    sr_builder_push_block(b, "block", "Sequential");
    SrNodeId y = (s->fused ? fused_branch : mb_branch)(b, net, s, x, channels, stride);
    sr_builder_pop(b);
    if (!residual)
        return y;
    sum[0] = sr_stochastic_depth(b, "stochastic_depth", y, p);
    return sr_build_n(b, "add", "add", NULL, sum, 2);
}

static SrNodeId stage(SrBuilder *b, Net *net, int at, SrNodeId x) {
    const Stage *s = &net->arch->stage[at];
    sr_builder_push_numbered(b, "Sequential", "%d", at + 1);
    for (int i = 0; i < blocks_of(net, s); i++) {
        sr_builder_push_numbered(b, s->fused ? "FusedMBConv" : "MBConv", "%d", i);
        x = block(b, net, s, x, channels_of(net, s->out), i == 0 ? s->stride : 1);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    return x;
}

// Announces timm's indices: the last map of each resolution.
static SrNodeId stages(SrBuilder *b, Net *net, SrNodeId x) {
    int index = 0;
    for (int s = 0; s < net->arch->n_stages; s++) {
        x = stage(b, net, s, x);
        if (s + 1 == net->arch->n_stages || net->arch->stage[s + 1].stride == 2)
            sr_build_alias_numbered(b, x, "%d", index++);
    }
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Efficientnet *p = params;
    Net net = {.options = p, .arch = &archs[p->arch]};
    const Arch *a = net.arch;
    int i = 0;
    for (int s = 0; s < a->n_stages; s++)
        net.total += blocks_of(&net, &a->stage[s]);
    sr_builder_push_block(b, "features", "Sequential");
    SrConvNorm stem = {.channels = channels_of(&net, a->stage[0].in),
                       .kernel = 3,
                       .stride = 2,
                       .activation = "silu"};
    SrNodeId x = stages(b, &net, conv(b, &net, &i, in->image, stem));
    int last = channels_of(&net, a->stage[a->n_stages - 1].out);
    i = a->n_stages + 1;
    x = conv(
        b, &net, &i, x,
        (SrConvNorm){.channels = a->last ? a->last : 4 * last, .kernel = 1, .activation = "silu"});
    sr_builder_pop(b);
    out->map = x;
    out->pooled = sr_pool_flatten(b, x, NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const Efficientnet *p = params;
    sr_builder_push_block(b, "classifier", "Sequential");
    SrNodeId x = sr_dropout(b, "0", features->pooled, p->dropout);
    *logits = sr_linear_normal(b, "1", x, preset->classes, 0);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

// clang-format off
static const SrPreset presets[] = {
    {"efficientnet_b0", "{ARCH: b0}", "classifier.1", 1000},
    {"efficientnet_b1", "{ARCH: b1}", "classifier.1", 1000},
    {"efficientnet_b2", "{ARCH: b2, DROPOUT: 0.3}", "classifier.1", 1000},
    {"efficientnet_b3", "{ARCH: b3, DROPOUT: 0.3}", "classifier.1", 1000},
    {"efficientnet_b4", "{ARCH: b4, DROPOUT: 0.4}", "classifier.1", 1000},
    {"efficientnet_b5", "{ARCH: b5, DROPOUT: 0.4}", "classifier.1", 1000},
    {"efficientnet_b6", "{ARCH: b6, DROPOUT: 0.5}", "classifier.1", 1000},
    {"efficientnet_b7", "{ARCH: b7, DROPOUT: 0.5}", "classifier.1", 1000},
    {"efficientnet_v2_s", "{ARCH: v2_s}", "classifier.1", 1000},
    {"efficientnet_v2_m", "{ARCH: v2_m, DROPOUT: 0.3}", "classifier.1", 1000},
    {"efficientnet_v2_l", "{ARCH: v2_l, DROPOUT: 0.4}", "classifier.1", 1000},
};
// clang-format on

static const SrTrunkExample examples[] = {
    {"{ARCH: b0, WIDTH_MULTIPLIER: 0.25, STOCHASTIC_DEPTH: 0}", 32, 48}};

const SrTrunk sr_trunk_torchvision_efficientnet = {
    .name = "torchvision_efficientnet",
    .help = "torchvision's EfficientNet B0 to B7 and V2 S, M, L",
    .subtree = "MODEL.TRUNK.TORCHVISION_EFFICIENTNET",
    .options = options,
    .params_bytes = sizeof(Efficientnet),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
