// MobileNetV3 large and small (Howard et al., arXiv:1905.02244) as three trunks of one builder.
// `torchvision_mobilenet_v3` has torchvision's layers and names.  VISSL wraps that net as
// `mobilenetv3_tv` and timm's as `mobilenetv3_timm` (vissl/models/trunks/mobile_net.py), with names
// below "model.".
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.MOBILE_NET"

enum { LARGE, SMALL };
typedef struct {
    int arch; // LARGE or SMALL
    double width_multiplier;
    double eps, momentum; // of batch norms
    bool timm; // true: timm's names (conv_stem, bn1), false: torchvision's (features.0.0)
} Net;

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

// Returns a layer's number of channels: the nearest multiple of 8.
static int channels_of(const Net *p, int channels) {
    return sr_make_divisible(channels * p->width_multiplier, 8);
}

// Adds layer *i of a block, counted from 0; `leaf` is timm's name of the convolution.
static SrNodeId layer(SrBuilder *b, const Net *p, int *i, const char *leaf, SrNodeId x,
                      SrConvNorm c) {
    static const char *const norms[] = {"bn1", "bn2", "bn3"};
    int at = (*i)++;
    c.eps = p->eps;
    c.momentum = p->momentum;
    return p->timm ? sr_conv_norm_named(b, leaf, norms[at], "act", x, &c)
                   : sr_conv_norm(b, sr_leaf(at).s, x, &c);
}

static SrNodeId gate(SrBuilder *b, const Net *p, int *i, SrNodeId x, int squeeze) {
    static const char *const timm[] = {"SqueezeExcite", "mean",        "conv_reduce",
                                       "act1",          "conv_expand", "gate"};
    SrSqueezeExcitation gated = {squeeze, "relu", "hardsigmoid", .names = p->timm ? timm : NULL};
    return sr_squeeze_excitation(b, p->timm ? "se" : sr_leaf((*i)++).s, x, &gated);
}

// Returns whether a block starts with a 1x1 convolution: timm decides by the kind of block,
// torchvision by the widths.
static SrNodeId branch(SrBuilder *b, const Net *p, const Block *t, SrNodeId x) {
    int i = 0, wide = channels_of(p, t->wide), in = sr_shape_last(sr_build_shape(b, x));
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
                 (SrConvNorm){.channels = channels_of(p, t->out), .kernel = 1});
}

static SrNodeId block(SrBuilder *b, const Net *p, const Block *t, SrNodeId x) {
    bool residual = t->stride == 1 && sr_shape_last(sr_build_shape(b, x)) == channels_of(p, t->out);
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
static SrNodeId blocks(SrBuilder *b, const Net *p, SrNodeId x, int *index) {
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

// x: (N, H, W, C) -> (N, H / 32, W / 32, 6 times the last block's channels), with timm's indices
// as stages.
static SrNodeId features(SrBuilder *b, const Net *p, SrNodeId x) {
    int i = 0, index = 0;
    SrConvNorm stem = {
        .channels = channels_of(p, 16), .kernel = 3, .stride = 2, .activation = "hardswish"};
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
        sr_builder_push_block(b, p->arch == LARGE ? "6.0" : "5.0", "ConvBnAct");
    i = p->timm ? 0 : archs[p->arch].n + 1;
    x = layer(b, p, &i, "conv", x, last);
    sr_build_alias_numbered(b, x, "%d", index);
    if (p->timm)
        sr_builder_pop(b);
    sr_builder_pop(b);
    return x;
}

// ---- torchvision's trunk

typedef struct {
    int arch;
    double width_multiplier, dropout;
} MobilenetV3;

#define FIELD(f) offsetof(MobilenetV3, f)
static const SrOption options[] = {
    {"ARCH", SR_OPT_ENUM, FIELD(arch), "large", .choices = "large|small",
     .help = "Name of the net."},
    SR_ROW_WIDTH_MULTIPLIER(0.0625),
    SR_ROW_DROPOUT("0.2"),
    SR_OPTION_END,
};
#undef FIELD

static Net net_of(const MobilenetV3 *p) {
    return (Net){
        .arch = p->arch, .width_multiplier = p->width_multiplier, .eps = 1e-3, .momentum = 0.01};
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    Net net = net_of(params);
    out->map = features(b, &net, in->image);
    out->pooled = sr_pool_flatten(b, out->map, NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *given, SrNodeId *logits) {
    const MobilenetV3 *p = params;
    Net net = net_of(p);
    int hidden = channels_of(&net, p->arch == LARGE ? 1280 : 1024);
    sr_builder_push_block(b, "classifier", "Sequential");
    SrNodeId x = sr_linear_normal(b, "0", given->pooled, hidden, 0.01);
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
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};

// ---- VISSL's trunks

typedef struct {
    int name; // LARGE or SMALL
    bool timm_bn, trunk_only;
    double width_multiplier;
} MobileNet;

// Each trunk has a table, because each marks the keys that it does not read.
#define FIELD(f) offsetof(MobileNet, f)
// clang-format off
#define NAMES \
    {"NAME", SR_OPT_ENUM, FIELD(name), "mobilenetv3_large_100", .choices = "mobilenetv3_large_100|mobilenetv3_small_100", \
     .help = "Name of the net; VISSL has only the large one."}
#define PRETRAINED_AND_WIDTH \
    {"PRETRAINED", SR_OPT_IGNORED, 0, "False", .choices = SR_REFUSED, \
     .help = "sslrun downloads nothing; give MODEL.WEIGHTS_INIT.PARAMS_FILE"}, \
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, FIELD(width_multiplier), "1", 0.0625, 16, \
     .help = "Factor on the channels of every layer (not in VISSL); a fraction makes a smaller net."}
static const SrOption tv_options[] = {
    NAMES,
    {"TIMM_BN", SR_OPT_BOOL, FIELD(timm_bn), "False",
     .help = "Batch norms have timm's epsilon 1e-5 and momentum 0.1 instead of 1e-3 and 0.01."},
    {"TRUNK_ONLY", SR_OPT_IGNORED, 0, "True", .help = "only mobilenetv3_timm reads it"},
    PRETRAINED_AND_WIDTH,
    SR_OPTION_END,
};
static const SrOption timm_options[] = {
    NAMES,
    {"TIMM_BN", SR_OPT_IGNORED, 0, "False",
     .help = "mobilenetv3_timm always has timm's batch norms; only mobilenetv3_tv reads the key"},
    {"TRUNK_ONLY", SR_OPT_BOOL, FIELD(trunk_only), "True",
     .help = "Leave out the convolution between pooling and classifier; the head has it then."},
    PRETRAINED_AND_WIDTH,
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

// Adds x divided by its length, row by row, as the stage `name`.
static void normalized(SrBuilder *b, SrNodeId x, const char *name) {
    sr_build_alias(b, name, sr_build(b, "l2_normalize", "normalize", NULL, x));
}

// Announces the stages trunk, trunk_pool and trunk_pool_norm of a map; fills `map` and `pooled`.
static void outputs(SrBuilder *b, SrNodeId map, SrTrunkOutput *out) {
    out->map = map;
    sr_build_alias(b, "trunk", map);
    out->pooled = sr_build(b, "adaptive_avg_pool2d", "avgpool", &(SrAdaptivePool2dParams){0}, map);
    out->pooled = sr_build(b, "flatten", "flatten", NULL, out->pooled);
    sr_build_alias(b, "trunk_pool", out->pooled);
    normalized(b, out->pooled, "trunk_pool_norm");
}

static SrStatus build_tv(SrBuilder *b, const void *params, const SrTrunkInput *in,
                         SrTrunkOutput *out) {
    const MobileNet *p = params;
    Net net = {.arch = p->name,
               .width_multiplier = p->width_multiplier,
               .eps = p->timm_bn ? 1e-5 : 1e-3,
               .momentum = p->timm_bn ? 0.1 : 0.01};
    sr_builder_push(b, "model");
    outputs(b, features(b, &net, in->image), out);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrTrunkExample tv_examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 32, 48}};

const SrTrunk sr_trunk_mobilenetv3_tv = {
    .name = "mobilenetv3_tv",
    .help = "MobileNetV3 under torchvision's names",
    .subtree = SUBTREE,
    .options = tv_options,
    .params_bytes = sizeof(MobileNet),
    .build = build_tv,
    .examples = SR_LIST(tv_examples),
};

// (N, H, W, C) -> (N, 1280 or 1024): timm's layers between pooling and classifier
static SrNodeId head(SrBuilder *b, const Net *net, SrNodeId map) {
    int channels = channels_of(net, net->arch == LARGE ? 1280 : 1024);
    SrNodeId x =
        sr_build(b, "adaptive_avg_pool2d", "global_pool", &(SrAdaptivePool2dParams){0}, map);
    x = sr_conv_bias(b, "conv_head", x, channels, 1, 1, 0);
    x = sr_build(b, "hardswish", "act2", NULL, x);
    return sr_build(b, "flatten", "flatten", NULL, x);
}

static SrStatus build_timm(SrBuilder *b, const void *params, const SrTrunkInput *in,
                           SrTrunkOutput *out) {
    const MobileNet *p = params;
    Net net = {.arch = p->name,
               .width_multiplier = p->width_multiplier,
               .eps = 1e-5,
               .momentum = 0.1,
               .timm = true};
    sr_builder_push(b, "model");
    outputs(b, features(b, &net, in->image), out);
    if (!p->trunk_only) {
        out->pooled = head(b, &net, out->map);
        sr_build_alias(b, "flatten", out->pooled);
        normalized(b, out->pooled, "flatten_norm");
    }
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrTrunkExample timm_examples[] = {
    {"{WIDTH_MULTIPLIER: 0.0625}", 32, 48},
    {"{WIDTH_MULTIPLIER: 0.0625, TRUNK_ONLY: False}", 32, 0}};

const SrTrunk sr_trunk_mobilenetv3_timm = {
    .name = "mobilenetv3_timm",
    .help = "MobileNetV3 under timm's names",
    .subtree = SUBTREE,
    .options = timm_options,
    .params_bytes = sizeof(MobileNet),
    .build = build_timm,
    .examples = SR_LIST(timm_examples),
};
