// DenseNet (Huang et al., "Densely connected convolutional networks", arXiv:1608.06993) with
// torchvision's layers and names.  Each layer reads the concatenated outputs of all earlier
// layers of its block.
#include <math.h>

#include "kernels/basic/concat.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/trunk.h"

enum { BLOCKS = 4 };
typedef struct {
    int growth, init_features, bn_size;
    SrInts blocks;
} Densenet;

#define FIELD(f) offsetof(Densenet, f)
static const SrOption options[] = {
    {"GROWTH_RATE", SR_OPT_INT, FIELD(growth), "32", 1, 4096,
     .help = "Growth rate: number of channels that each layer adds."},
    {"BLOCK_CONFIG", SR_OPT_INTS, FIELD(blocks), "[6, 12, 24, 16]", 1, 63,
     .help = "Number of layers in each of the four blocks."},
    {"NUM_INIT_FEATURES", SR_OPT_INT, FIELD(init_features), "64", 1, 65536,
     .help = "Number of channels of the stem."},
    {"BN_SIZE", SR_OPT_INT, FIELD(bn_size), "4", 1, 64,
     .help = "Channels between a layer's two convolutions, as a multiple of the growth rate."},
    SR_OPTION_END,
};
#undef FIELD

// Weights are normal with deviation sqrt(2 / fan_in).
static SrNodeId conv(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel,
                     int stride) {
    int fan_in = sr_shape_last(sr_build_shape(b, x)) * kernel * kernel;
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, sqrt(2.0 / fan_in)});
    return sr_conv(b, leaf, x, channels, kernel, stride, 1);
}

static SrNodeId norm_relu(SrBuilder *b, const char *norm, const char *relu, SrNodeId x) {
    x = sr_build(b, "batch_norm", norm, NULL, x);
    return sr_build(b, "relu", relu, NULL, x);
}

static SrNodeId joined(SrBuilder *b, const SrNodeId *x, int n) {
    return sr_build_n(b, "concat", "cat", &(SrConcatParams){3}, x, n);
}

static SrNodeId layer(SrBuilder *b, const Densenet *p, const SrNodeId *before, int n) {
    sr_builder_push_numbered(b, "_DenseLayer", "denselayer%d", n);
    SrNodeId x = norm_relu(b, "norm1", "relu1", joined(b, before, n));
    x = conv(b, "conv1", x, p->bn_size * p->growth, 1, 1);
    x = conv(b, "conv2", norm_relu(b, "norm2", "relu2", x), p->growth, 3, 1);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Densenet *p, int i, SrNodeId x) {
    SrNodeId all[SR_OP_MAX_IN] = {x};
    sr_builder_push_numbered(b, "_DenseBlock", "denseblock%d", i + 1);
    int n = 1;
    for (; n <= p->blocks.v[i]; n++)
        all[n] = layer(b, p, all, n);
    x = joined(b, all, n);
    sr_builder_pop(b);
    return x;
}

// Adds a transition: half the channels at half the resolution.
static SrNodeId transition(SrBuilder *b, int i, SrNodeId x) {
    sr_builder_push_numbered(b, "_Transition", "transition%d", i + 1);
    x = norm_relu(b, "norm", "relu", x);
    x = conv(b, "conv", x, sr_shape_last(sr_build_shape(b, x)) / 2, 1, 1);
    x = sr_build(b, "avg_pool2d", "pool", &(SrPool2dParams){.kernel_h = 2, .padding_w = -1}, x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId stem(SrBuilder *b, const Densenet *p, SrNodeId x) {
    SrPool2dParams pool = {.kernel_h = 3, .stride_h = 2, .padding_h = 1, .padding_w = -1};
    x = conv(b, "conv0", x, p->init_features, 7, 2);
    x = norm_relu(b, "norm0", "relu0", x);
    sr_build_alias(b, "0", x);
    return sr_build(b, "max_pool2d", "pool0", &pool, x);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Densenet *p = params;
    if (p->blocks.n != BLOCKS)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.DENSENET.BLOCK_CONFIG has %d numbers, expected %d",
                               p->blocks.n, BLOCKS);
    sr_builder_push_block(b, "features", "Sequential");
    SrNodeId x = stem(b, p, in->image);
    for (int i = 0; i < BLOCKS; i++) {
        x = block(b, p, i, x);
        if (i + 1 == BLOCKS)
            break;
        sr_build_alias_numbered(b, x, "%d", i + 1); // timm's: each block's end
        x = transition(b, i, x);
    }
    x = sr_build(b, "batch_norm", "norm5", NULL, x);
    sr_builder_pop(b);
    x = sr_build(b, "relu", "relu", NULL, x);
    sr_build_alias(b, "4", x);
    out->map = x;
    out->pooled = sr_pool_flatten_named(b, x, "adaptive_avg_pool2d", NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    *logits = sr_linear_normal(b, "classifier", features->pooled, preset->classes, 0);
    return sr_builder_status(b);
}

// clang-format off
static const SrPreset presets[] = {
    {"densenet121", "{}", "classifier", 1000},
    {"densenet161", "{GROWTH_RATE: 48, BLOCK_CONFIG: [6, 12, 36, 24], NUM_INIT_FEATURES: 96}", "classifier", 1000},
    {"densenet169", "{BLOCK_CONFIG: [6, 12, 32, 32]}", "classifier", 1000},
    {"densenet201", "{BLOCK_CONFIG: [6, 12, 48, 32]}", "classifier", 1000},
};
// clang-format on

static const SrTrunkExample examples[] = {
    {"{GROWTH_RATE: 4, BLOCK_CONFIG: [2, 3, 2, 1], NUM_INIT_FEATURES: 8, BN_SIZE: 2}", 32, 48}};

const SrTrunk sr_trunk_densenet = {
    .name = "densenet",
    .help = "DenseNet of 121 to 201 layers, or of other depths",
    .subtree = "MODEL.TRUNK.DENSENET",
    .options = options,
    .params_bytes = sizeof(Densenet),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
