// EfficientNet (Tan and Le, arXiv:1905.11946) with VISSL's keys and names, which are
// ClassyVision's (classy_vision/models/efficientnet.py).  The trunk torchvision_efficientnet has
// torchvision's names.
//
// VISSL's behaviour is kept: convolutions are padded equally on both sides, the width of
// squeeze-excitation follows from the block's input, and the default feature comes after the
// dropout.
#include <math.h>

#include "kernels/basic/stochastic_depth.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/batch_norm.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.EFFICIENT_NETS"

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

static const struct {
    double width, depth, dropout;
} versions[] = {{1.0, 1.0, 0.2}, {1.0, 1.1, 0.2}, {1.1, 1.2, 0.3}, {1.2, 1.4, 0.3},
                {1.4, 1.8, 0.4}, {1.6, 2.2, 0.4}, {1.8, 2.6, 0.5}, {2.0, 3.1, 0.5}};

// arXiv:1905.11946, table 1
static const struct {
    int blocks, kernel, stride, expand, in, out;
} stages[] = {{1, 3, 1, 1, 32, 16},  {2, 3, 2, 6, 16, 24},  {2, 5, 2, 6, 24, 40},
              {3, 3, 2, 6, 40, 80},  {3, 5, 1, 6, 80, 112}, {4, 5, 2, 6, 112, 192},
              {1, 3, 1, 6, 192, 320}};

static double width_of(const Efficientnet *p) {
    return p->width > 0 ? p->width : versions[p->version].width;
}

// Returns -1 for a text that is no number.
static int least_width(const Efficientnet *p) {
    const SrYaml *given = p->min_width;
    if (!given || given->type == SR_YAML_NULL)
        return 0;
    return given->type == SR_YAML_INT && given->i >= 0 && given->i <= 65536 ? (int)given->i : -1;
}

static int channels_of(const Efficientnet *p, int channels) {
    double wanted = channels * width_of(p);
    int d = p->width_divisor, least = least_width(p);
    int nearest = SR_MAX(least ? least : d, (int)(wanted + d / 2.0) / d * d);
    return nearest < 0.9 * wanted ? nearest + d : nearest;
}

static int blocks_of(const Efficientnet *p, int stage) {
    return (int)ceil(stages[stage].blocks * (p->depth > 0 ? p->depth : versions[p->version].depth));
}

static int count_blocks(const Efficientnet *p) {
    int n = 0;
    for (int s = 0; s < SR_COUNT(stages); s++)
        n += blocks_of(p, s);
    return n;
}

// Settings of the block that is being built, common to all of its layers.
typedef struct {
    SrBuilder *b;
    const Efficientnet *p;
} Net;

static SrNodeId conv(const Net *net, const char *leaf, SrNodeId x, SrConv2dParams p) {
    p.padding_h = (p.kernel_h - 1) / 2;
    p.padding_w = -1;
    p.groups = SR_MAX(p.groups, 1);
    sr_conv_kaiming(net->b, &p);
    return sr_build(net->b, "conv2d", leaf, &p, x);
}

static SrNodeId norm(const Net *net, const char *leaf, SrNodeId x) {
    SrBatchNormParams p = {.eps = net->p->bn_epsilon, .momentum = net->p->bn_momentum};
    return sr_build(net->b, "batch_norm", leaf, &p, x);
}

static SrNodeId swish(const Net *net, SrNodeId x) {
    return sr_build(net->b, "silu", "relu_fn", NULL, x);
}

static SrNodeId point(const Net *net, const char *leaf, SrNodeId x, int channels, bool bias) {
    return conv(net, leaf, x,
                (SrConv2dParams){.out_channels = channels, .kernel_h = 1, .bias = bias});
}

static SrNodeId branch(const Net *net, int s, SrNodeId x, int channels, int stride) {
    static const char *const names[] = {NULL,      "se_avgpool", "se_reduce",
                                        "relu_fn", "se_expand",  "sigmoid"};
    int in = sr_shape_last(sr_build_shape(net->b, x)), wide = in * stages[s].expand;
    SrSqueezeExcitation gate = {SR_MAX(1, in / 4), "silu", "sigmoid", .names = names};
    if (wide != in)
        x = swish(net, norm(net, "bn0", point(net, "expand_conv", x, wide, false)));
    x = conv(net, "depthwise_conv", x,
             (SrConv2dParams){.out_channels = wide,
                              .kernel_h = stages[s].kernel,
                              .stride_h = stride,
                              .groups = wide});
    x = swish(net, norm(net, "bn1", x));
    if (net->p->use_se)
        x = sr_squeeze_excitation(net->b, NULL, x, &gate);
    return norm(net, "bn2", point(net, "project_conv", x, channels, false));
}

static SrNodeId block(const Net *net, int s, SrNodeId x, int stride, double drop) {
    int channels = channels_of(net->p, stages[s].out);
    bool residual = stride == 1 && sr_shape_last(sr_build_shape(net->b, x)) == channels;
    SrNodeId y = branch(net, s, x, channels, stride);
    if (!residual)
        return y;
    if (drop > 0)
        y = sr_build(net->b, "stochastic_depth", "drop_connect",
                     &(SrStochasticDepthParams){.p = drop}, y);
    return sr_build_n(net->b, "add", "add", NULL, (SrNodeId[]){y, x}, 2);
}

// Blocks are numbered through; timm's indices name the last map of each resolution.
static SrNodeId blocks(const Net *net, SrNodeId x) {
    int at = 0, index = 0, total = count_blocks(net->p);
    for (int s = 0; s < SR_COUNT(stages); s++) {
        for (int i = 0; i < blocks_of(net->p, s); i++, at++) {
            sr_builder_push_numbered(net->b, "MBConvBlock", "block%d", at);
            x = block(net, s, x, i ? 1 : stages[s].stride, net->p->drop_connect_rate * at / total);
            sr_builder_pop(net->b);
            sr_build_alias_numbered(net->b, x, "block%d", at);
        }
        if (s + 1 < SR_COUNT(stages) && stages[s + 1].stride == 1)
            continue;
        sr_build_alias_numbered(net->b, x, "%d", index++);
    }
    return x;
}

// conv1 and conv_final: a Sequential of convolution, norm and activation.
static SrNodeId layer(const Net *net, const char *scope, SrNodeId x, SrConv2dParams p) {
    sr_builder_push_block(net->b, scope, "Sequential");
    x = norm(net, "1", conv(net, "0", x, p));
    x = sr_build(net->b, "silu", "2", NULL, x);
    sr_builder_pop(net->b);
    sr_build_alias(net->b, scope, x);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    Net net = {b, params};
    const Efficientnet *p = params;
    if (least_width(p) < 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE
                               ".min_width must be null or a number of channels up to 65536");
    double dropout = p->dropout >= 0 ? p->dropout : versions[p->version].dropout;
    SrConv2dParams first = {.out_channels = channels_of(p, 32), .kernel_h = 3, .stride_h = 2};
    SrConv2dParams last = {.out_channels = channels_of(p, 1280), .kernel_h = 1};
    SrNodeId x = blocks(&net, layer(&net, "conv1", in->image, first));
    x = layer(&net, "conv_final", x, last);
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
