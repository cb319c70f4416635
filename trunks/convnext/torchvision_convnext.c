// ConvNeXt (Liu et al., "A ConvNet for the 2020s", arXiv:2201.03545) with torchvision's layers and
// names.  The trunk convnext has VISSL's names, which are the authors'.

#include "kernels/basic/linear.h"
#include "kernels/basic/permute.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/norm/layer_scale.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/trunk.h"

typedef struct {
    SrInts depths, dims;
    double stochastic_depth, layer_scale;
} Convnext;

#define FIELD(f) offsetof(Convnext, f)
static const SrOption options[] = {
    {"DEPTHS", SR_OPT_INTS, FIELD(depths), "[3, 3, 9, 3]", 1, 1000,
     .help = "Number of blocks in each stage."},
    {"DIMS", SR_OPT_INTS, FIELD(dims), "[96, 192, 384, 768]", 1, 1 << 16,
     .help = "Number of channels in each stage."},
    {"STOCHASTIC_DEPTH", SR_OPT_FLOAT, FIELD(stochastic_depth), "0", 0, 0.99,
     .help = "Probability of leaving out the last block; earlier ones have proportionally less."},
    {"LAYER_SCALE", SR_OPT_FLOAT, FIELD(layer_scale), "1e-6", 0, 1e6,
     .help = "Initial value of the learned factors of branches (LayerScale)."},
    SR_OPTION_END,
};
#undef FIELD

static const SrInit weights = {SR_INIT_NORMAL, 0.02}, zero = {SR_INIT_CONSTANT, 0};

static SrNodeId conv(SrBuilder *b, const char *leaf, SrNodeId x, const SrConv2dParams *p) {
    sr_builder_set_init(b, "weight", weights);
    sr_builder_set_init(b, "bias", zero);
    return sr_build(b, "conv2d", leaf, p, x);
}

static SrNodeId linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features) {
    sr_builder_set_init(b, "weight", weights);
    sr_builder_set_init(b, "bias", zero);
    return sr_build(b, "linear", leaf,
                    &(SrLinearParams){.out_features = out_features, .bias = true}, x);
}

static SrNodeId permute(SrBuilder *b, SrNodeId x, SrChannels channels) {
    return sr_build(b, "permute", "permute", &(SrPermuteParams){.channels = channels}, x);
}

static SrNodeId permute_module(SrBuilder *b, const char *scope, SrNodeId x, SrChannels channels) {
    sr_builder_push_block(b, scope, "Permute");
    x = permute(b, x, channels);
    sr_builder_pop(b);
    return x;
}

// Adds LayerNorm2d over the channels of each pixel.
static SrNodeId norm2d(SrBuilder *b, const char *scope, SrNodeId x) {
    int C = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, scope, "LayerNorm2d");
    x = permute(b, x, SR_CHANNELS_LAST);
    sr_build_parameter_remark(b, "weight", SR_SHAPE(C));
    sr_build_parameter_remark(b, "bias", SR_SHAPE(C));
    sr_builder_set_entry(b, "weight", "weight");
    sr_builder_set_entry(b, "bias", "bias");
    x = sr_build(b, "layer_norm", "layer_norm", &(SrLayerNormParams){.eps = 1e-6}, x);
    x = permute(b, x, SR_CHANNELS_FIRST);
    sr_builder_pop(b);
    return x;
}

static SrNodeId branch(SrBuilder *b, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    SrConv2dParams depthwise = {.out_channels = dim,
                                .kernel_h = 7,
                                .padding_h = 3,
                                .padding_w = -1,
                                .groups = dim,
                                .bias = true};
    sr_builder_push_block(b, "block", "Sequential");
    x = conv(b, "0", x, &depthwise);
    x = permute_module(b, "1", x, SR_CHANNELS_LAST);
    x = sr_build(b, "layer_norm", "2", &(SrLayerNormParams){.eps = 1e-6}, x);
    x = linear(b, "3", x, 4 * dim);
    x = sr_build(b, "gelu", "4", NULL, x);
    x = linear(b, "5", x, dim);
    x = permute_module(b, "6", x, SR_CHANNELS_FIRST);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Convnext *p, SrNodeId x, double drop) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    SrNodeId sum[2] = {SR_NO_NODE, x};
    sr_build_parameter_remark(b, "layer_scale", SR_SHAPE(dim, 1, 1));
    SrNodeId y = branch(b, x);
    sr_builder_set_entry(b, "weight", "layer_scale");
    y = sr_build(b, "layer_scale", "mul", &(SrLayerScaleParams){p->layer_scale, true}, y);
    sum[0] = sr_stochastic_depth(b, "stochastic_depth", y, drop);
    return sr_build_n(b, "add", "add", NULL, sum, 2);
}

static int blocks_of(const Convnext *p) {
    int total = 0;
    for (int s = 0; s < p->depths.n; s++)
        total += p->depths.v[s];
    return total;
}

static SrNodeId stage(SrBuilder *b, const Convnext *p, int s, int *done, SrNodeId x) {
    sr_builder_push_numbered(b, "Sequential", "%d", 2 * s + 1);
    for (int i = 0; i < p->depths.v[s]; i++) {
        double drop = p->stochastic_depth * (*done)++ / SR_MAX(blocks_of(p) - 1, 1);
        sr_builder_push_numbered(b, "CNBlock", "%d", i);
        x = block(b, p, x, drop);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "%d", s); // timm's index
    sr_build_alias_numbered(b, x, "res%d", s + 2);
    return x;
}

// Adds a norm and a 2x2 convolution of stride 2.
static SrNodeId downsample(SrBuilder *b, const Convnext *p, int s, SrNodeId x) {
    SrConv2dParams half = {.out_channels = p->dims.v[s],
                           .kernel_h = 2,
                           .stride_h = 2,
                           .padding_w = -1,
                           .groups = 1,
                           .bias = true};
    sr_builder_push_numbered(b, "Sequential", "%d", 2 * s);
    x = conv(b, "1", norm2d(b, "0", x), &half);
    sr_builder_pop(b);
    return x;
}

static SrNodeId stem(SrBuilder *b, const Convnext *p, SrNodeId x) {
    SrConv2dParams patch = {.out_channels = p->dims.v[0],
                            .kernel_h = 4,
                            .stride_h = 4,
                            .padding_w = -1,
                            .groups = 1,
                            .bias = true};
    sr_builder_push_block(b, "0", "Conv2dNormActivation");
    x = norm2d(b, "1", conv(b, "0", x, &patch));
    sr_builder_pop(b);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Convnext *p = params;
    int done = 0;
    if (p->depths.n != p->dims.n)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.TORCHVISION_CONVNEXT: DEPTHS has %d numbers and DIMS "
                               "%d, expected as many",
                               p->depths.n, p->dims.n);
    sr_builder_push_block(b, "features", "Sequential");
    SrNodeId x = stem(b, p, in->image);
    for (int s = 0; s < p->depths.n; s++)
        x = stage(b, p, s, &done, s ? downsample(b, p, s, x) : x);
    sr_builder_pop(b);
    out->map = x;
    x = sr_build(b, "adaptive_avg_pool2d", "avgpool", &(SrAdaptivePool2dParams){0}, x);
    sr_builder_push(b, "classifier");
    x = norm2d(b, "0", x);
    out->pooled = sr_build(b, "flatten", "1", NULL, x);
    sr_builder_pop(b);
    sr_build_alias(b, "flatten", out->pooled);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    sr_builder_push(b, "classifier");
    *logits = linear(b, "2", features->pooled, preset->classes);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

// clang-format off
static const SrPreset presets[] = {
    {"convnext_tiny", "{STOCHASTIC_DEPTH: 0.1}", "classifier.2", 1000},
    {"convnext_small", "{DEPTHS: [3, 3, 27, 3], STOCHASTIC_DEPTH: 0.4}", "classifier.2", 1000},
    {"convnext_base", "{DEPTHS: [3, 3, 27, 3], DIMS: [128, 256, 512, 1024], STOCHASTIC_DEPTH: 0.5}", "classifier.2", 1000},
    {"convnext_large", "{DEPTHS: [3, 3, 27, 3], DIMS: [192, 384, 768, 1536], STOCHASTIC_DEPTH: 0.5}", "classifier.2", 1000},
};
// clang-format on

static const SrTrunkExample examples[] = {
    {"{DEPTHS: [1, 2, 1], DIMS: [8, 16, 20], LAYER_SCALE: 0.5, STOCHASTIC_DEPTH: 0.1}", 32, 48}};

const SrTrunk sr_trunk_torchvision_convnext = {
    .name = "torchvision_convnext",
    .help = "torchvision's ConvNeXt",
    .subtree = "MODEL.TRUNK.TORCHVISION_CONVNEXT",
    .options = options,
    .params_bytes = sizeof(Convnext),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
