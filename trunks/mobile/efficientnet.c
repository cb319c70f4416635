// EfficientNet (Tan and Le, arXiv:1905.11946) and EfficientNetV2 (arXiv:2104.00298) as two trunks
// of one builder.  `efficientnet` has VISSL's keys and names, which are ClassyVision's
// (classy_vision/models/efficientnet.py); `torchvision_efficientnet` has torchvision's.
//
// VISSL's behaviour is kept: convolutions are padded equally on both sides, the width of
// squeeze-excitation follows from the block's input, and the default feature comes after the
// dropout.
#include <math.h>

#include "kernels/basic/stochastic_depth.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.EFFICIENT_NETS"

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
    bool vissl; // true: VISSL's names, false: torchvision's
    const Arch *arch;
    double width, more_width, depth; // factors on channels, twice, and on blocks
    int divisor, least;              // of numbers of channels
    double eps, momentum;            // of batch norms
    double drop;                     // probability of leaving out the last block
    bool no_gates;                   // true: no squeeze-excitation
    int total, done;                 // number of blocks in all, and built so far
} Net;

static int channels_of(const Net *net, int channels) {
    double wanted = channels * net->width * net->more_width;
    int nearest =
        SR_MAX(net->least, (int)(wanted + net->divisor / 2.0) / net->divisor * net->divisor);
    return nearest < 0.9 * wanted ? nearest + net->divisor : nearest;
}

// torchvision scales the depths of version 1 only; version 2 lists its own.
static int blocks_of(const Net *net, const Stage *s) { return (int)ceil(s->blocks * net->depth); }

static int count_blocks(const Net *net) {
    int n = 0;
    for (int s = 0; s < net->arch->n_stages; s++)
        n += blocks_of(net, &net->arch->stage[s]);
    return n;
}

// Adds torchvision's module *i of a block, or VISSL's layers `conv` and `norm`.
static SrNodeId layer(SrBuilder *b, const Net *net, int *i, const char *conv, const char *norm,
                      SrNodeId x, SrConvNorm p) {
    p.eps = net->eps;
    p.momentum = net->momentum;
    return net->vissl ? sr_conv_norm_named(b, conv, norm, "relu_fn", x, &p)
                      : sr_conv_norm(b, sr_leaf((*i)++).s, x, &p);
}

static SrNodeId gate(SrBuilder *b, const Net *net, int *i, SrNodeId x, int squeeze) {
    static const char *const vissl[] = {NULL,      "se_avgpool", "se_reduce",
                                        "relu_fn", "se_expand",  "sigmoid"};
    SrSqueezeExcitation p = {squeeze, "silu", "sigmoid", .names = net->vissl ? vissl : NULL};
    return net->no_gates ? x : sr_squeeze_excitation(b, sr_leaf((*i)++).s, x, &p);
}

static SrNodeId mb_branch(SrBuilder *b, const Net *net, const Stage *s, SrNodeId x, int channels,
                          int stride) {
    int i = 0, in = sr_shape_last(sr_build_shape(b, x)), wide = in * s->expand;
    if (!net->vissl)
        wide = sr_make_divisible(wide, 8);
    if (wide != in)
        x = layer(b, net, &i, "expand_conv", "bn0", x,
                  (SrConvNorm){.channels = wide, .kernel = 1, .activation = "silu"});
    x = layer(b, net, &i, "depthwise_conv", "bn1", x,
              (SrConvNorm){.channels = wide,
                           .kernel = s->kernel,
                           .stride = stride,
                           .groups = wide,
                           .activation = "silu"});
    x = gate(b, net, &i, x, SR_MAX(1, in / 4));
    return layer(b, net, &i, "project_conv", "bn2", x,
                 (SrConvNorm){.channels = channels, .kernel = 1});
}

// Adds the branch of version 2, which VISSL does not have.
static SrNodeId fused_branch(SrBuilder *b, const Net *net, const Stage *s, SrNodeId x, int channels,
                             int stride) {
    int i = 0, in = sr_shape_last(sr_build_shape(b, x));
    int wide = sr_make_divisible(in * s->expand, 8);
    SrConvNorm first = {.channels = wide != in ? wide : channels,
                        .kernel = s->kernel,
                        .stride = stride,
                        .activation = "silu"};
    x = layer(b, net, &i, NULL, NULL, x, first);
    if (wide != in)
        x = layer(b, net, &i, NULL, NULL, x, (SrConvNorm){.channels = channels, .kernel = 1});
    return x;
}

static SrNodeId block(SrBuilder *b, Net *net, const Stage *s, SrNodeId x, int stride) {
    double drop = net->drop * net->done++ / net->total;
    int channels = channels_of(net, s->out);
    bool residual = stride == 1 && sr_shape_last(sr_build_shape(b, x)) == channels;
    if (!net->vissl)
        sr_builder_push_block(b, "block", "Sequential");
    SrNodeId y = (s->fused ? fused_branch : mb_branch)(b, net, s, x, channels, stride);
    if (!net->vissl)
        sr_builder_pop(b);
    if (!residual)
        return y;
    if (!net->vissl)
        y = sr_stochastic_depth(b, "stochastic_depth", y, drop);
    else if (drop > 0)
        y = sr_build(b, "stochastic_depth", "drop_connect", &(SrStochasticDepthParams){.p = drop},
                     y);
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){y, x}, 2);
}

// Adds a stage: a module of torchvision; VISSL's blocks are numbered through.
static SrNodeId stage(SrBuilder *b, Net *net, int at, SrNodeId x) {
    const Stage *s = &net->arch->stage[at];
    if (!net->vissl)
        sr_builder_push_numbered(b, "Sequential", "%d", at + 1);
    for (int i = 0; i < blocks_of(net, s); i++) {
        int n = net->done;
        if (net->vissl)
            sr_builder_push_numbered(b, "MBConvBlock", "block%d", n);
        else
            sr_builder_push_numbered(b, s->fused ? "FusedMBConv" : "MBConv", "%d", i);
        x = block(b, net, s, x, i == 0 ? s->stride : 1);
        sr_builder_pop(b);
        if (net->vissl)
            sr_build_alias_numbered(b, x, "block%d", n);
    }
    if (!net->vissl)
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

// Adds the first or the last convolution.
static SrNodeId around(SrBuilder *b, const Net *net, const char *scope, SrNodeId x, SrConvNorm p) {
    p.activation = "silu";
    p.eps = net->eps;
    p.momentum = net->momentum;
    p.class_name = net->vissl ? "Sequential" : NULL;
    x = sr_conv_norm(b, scope, x, &p);
    if (net->vissl)
        sr_build_alias(b, scope, x);
    return x;
}

// ---- VISSL's trunk

typedef struct {
    int version, width_divisor;
    const SrYaml *min_width;
    double bn_momentum, bn_epsilon, drop_connect_rate, width, depth, dropout;
    bool use_se;
} Efficientnet;

#define FIELD(f) offsetof(Efficientnet, f)
// clang-format off
static const SrOption options[] = {
    {"model_version", SR_OPT_ENUM, FIELD(version), "B0", .choices = "B0|B1|B2|B3|B4|B5|B6|B7", .help = "Preset of width, depth"
     " and dropout."},
    {"bn_momentum", SR_OPT_FLOAT, FIELD(bn_momentum), "0.01", 0, 1,
     .help = "Momentum of batch norms: share of the batch in the running statistics."},
    {"bn_epsilon", SR_OPT_FLOAT, FIELD(bn_epsilon), "1e-3", 1e-12, 1, .help = "Epsilon of batch norms."},
    {"drop_connect_rate", SR_OPT_FLOAT, FIELD(drop_connect_rate), "0.2", 0, 0.99,
     .help = "Probability of leaving out a block (stochastic depth).  It grows in proportion to the block's index; the last"
     " block stays just below it."},
    {"width_divisor", SR_OPT_INT, FIELD(width_divisor), "8", 1, 1024,
     .help = "Numbers of channels are multiples of this one."},
    {"min_width", SR_OPT_TREE, FIELD(min_width), "null",
     .help = "Smallest number of channels of a layer; null or 0: width_divisor."},
    {"use_se", SR_OPT_BOOL, FIELD(use_se), "True", .help = "Squeeze-excitation."},
    {"width", SR_OPT_FLOAT, FIELD(width), "0", 0, 16,
     .help = "Factor on the number of channels (not in VISSL); 0: the factor of model_version."},
    {"depth", SR_OPT_FLOAT, FIELD(depth), "0", 0, 16,
     .help = "Factor on the number of blocks (not in VISSL); 0: the factor of model_version."},
    {"dropout", SR_OPT_FLOAT, FIELD(dropout), "-1", -1, 0.99,
     .help = "Probability of dropout before the classifier (not in VISSL); -1: that of model_version."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static const double dropouts[] = {0.2, 0.2, 0.3, 0.3, 0.4, 0.4, 0.5, 0.5}; // of versions

// Returns -1 for a text that is no number.
static int least_width(const Efficientnet *p) {
    const SrYaml *given = p->min_width;
    if (!given || given->type == SR_YAML_NULL)
        return 0;
    return given->type == SR_YAML_INT && given->i >= 0 && given->i <= 65536 ? (int)given->i : -1;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Efficientnet *p = params;
    const Arch *arch = &archs[p->version];
    int least = least_width(p);
    if (least < 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE
                               ".min_width must be null or a number of channels up to 65536");
    double dropout = p->dropout >= 0 ? p->dropout : dropouts[p->version];
    Net net = {.vissl = true,
               .arch = arch,
               .width = p->width > 0 ? p->width : arch->width,
               .more_width = 1,
               .depth = p->depth > 0 ? p->depth : arch->depth,
               .divisor = p->width_divisor,
               .least = least ? least : p->width_divisor,
               .eps = p->bn_epsilon,
               .momentum = p->bn_momentum,
               .drop = p->drop_connect_rate,
               .no_gates = !p->use_se};
    net.total = count_blocks(&net);
    SrNodeId x = around(b, &net, "conv1", in->image,
                        (SrConvNorm){.channels = channels_of(&net, 32), .kernel = 3, .stride = 2});
    x = stages(b, &net, x);
    x = around(b, &net, "conv_final", x,
               (SrConvNorm){.channels = channels_of(&net, 1280), .kernel = 1});
    out->map = x;
    x = sr_pool_flatten(b, x, "avgpool");
    if (dropout > 0) {
        x = sr_dropout(b, "dropout", x, dropout);
        sr_build_alias(b, "dropout", x);
    }
    out->pooled = x;
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {
    {"{width: 0.125, depth: 0.5, width_divisor: 4, dropout: 0, drop_connect_rate: 0}", 32, 48},
    {"{width: 0.125, depth: 1, width_divisor: 4}", 32, 0}};

const SrTrunk sr_trunk_efficientnet = {
    .name = "efficientnet",
    .help = "EfficientNet B0 to B7 as VISSL and ClassyVision have them",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Efficientnet),
    .param_prefix = "_feature_blocks.",
    .build = build,
    .examples = SR_LIST(examples),
};

// ---- torchvision's trunk

typedef struct {
    int arch;
    double width_multiplier, stochastic_depth, dropout;
} TorchvisionEfficientnet;

#define FIELD(f) offsetof(TorchvisionEfficientnet, f)
static const SrOption torchvision_options[] = {
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

static SrStatus build_torchvision(SrBuilder *b, const void *params, const SrTrunkInput *in,
                                  SrTrunkOutput *out) {
    const TorchvisionEfficientnet *p = params;
    const Arch *a = &archs[p->arch];
    Net net = {.arch = a,
               .width = a->width,
               .more_width = p->width_multiplier,
               .depth = a->depth,
               .divisor = 8,
               .least = 8,
               .eps = a->eps,
               .momentum = a->momentum,
               .drop = p->stochastic_depth};
    net.total = count_blocks(&net);
    sr_builder_push_block(b, "features", "Sequential");
    SrNodeId x = around(
        b, &net, "0", in->image,
        (SrConvNorm){.channels = channels_of(&net, a->stage[0].in), .kernel = 3, .stride = 2});
    x = stages(b, &net, x);
    int last = a->last ? a->last : 4 * channels_of(&net, a->stage[a->n_stages - 1].out);
    x = around(b, &net, sr_leaf(a->n_stages + 1).s, x, (SrConvNorm){.channels = last, .kernel = 1});
    sr_builder_pop(b);
    out->map = x;
    out->pooled = sr_pool_flatten(b, x, NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const TorchvisionEfficientnet *p = params;
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

static const SrTrunkExample torchvision_examples[] = {
    {"{ARCH: b0, WIDTH_MULTIPLIER: 0.25, STOCHASTIC_DEPTH: 0}", 32, 48}};

const SrTrunk sr_trunk_torchvision_efficientnet = {
    .name = "torchvision_efficientnet",
    .help = "torchvision's EfficientNet B0 to B7 and V2 S, M, L",
    .subtree = "MODEL.TRUNK.TORCHVISION_EFFICIENTNET",
    .options = torchvision_options,
    .params_bytes = sizeof(TorchvisionEfficientnet),
    .build = build_torchvision,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(torchvision_examples),
};
