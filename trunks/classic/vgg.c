// VGG with 11 to 19 layers (Simonyan and Zisserman, arXiv:1409.1556), with or without batch norm,
// with torchvision's names.

#include "kernels/conv/conv2d.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    int depth;
    bool batch_norm;
    double width_multiplier, dropout;
} Vgg;

#define FIELD(f) offsetof(Vgg, f)
static const SrOption options[] = {
    {"DEPTH", SR_OPT_INT, FIELD(depth), "16", 11, 19,
     .help = "Number of layers: 11, 13, 16 or 19."},
    {"BATCH_NORM", SR_OPT_BOOL, FIELD(batch_norm), "False",
     .help = "Put a batch norm after each convolution."},
    SR_ROW_WIDTH_MULTIPLIER(0.015625),
    SR_ROW_DROPOUT("0.5"),
    SR_OPTION_END,
};
#undef FIELD

enum { STAGES = 5 };
static const struct { // table 1 of the paper: convolutions of each stage
    int depth, convs[STAGES];
} layouts[] = {
    {11, {1, 1, 2, 2, 2}}, {13, {2, 2, 2, 2, 2}}, {16, {2, 2, 3, 3, 3}}, {19, {2, 2, 4, 4, 4}}};

static const int *convs_of(int depth) {
    for (int i = 0; i < SR_COUNT(layouts); i++)
        if (layouts[i].depth == depth)
            return layouts[i].convs;
    return NULL;
}

// Modules are numbered through: features.0 is the first convolution, features.1 its norm or ReLU.
static SrNodeId layer(SrBuilder *b, const Vgg *p, int *at, SrNodeId x, int channels) {
    SrConv2dParams conv = {.out_channels = channels,
                           .kernel_h = 3,
                           .padding_h = 1,
                           .padding_w = -1,
                           .groups = 1,
                           .bias = true};
    sr_conv_kaiming(b, &conv);
    x = sr_build(b, "conv2d", sr_leaf((*at)++).s, &conv, x);
    if (p->batch_norm)
        x = sr_build(b, "batch_norm", sr_leaf((*at)++).s, NULL, x);
    return sr_build(b, "relu", sr_leaf((*at)++).s, NULL, x);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    static const int channels[STAGES] = {64, 128, 256, 512, 512};
    const Vgg *p = params;
    const int *convs = convs_of(p->depth);
    int at = 0;
    if (!convs)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.VGG.DEPTH is %d; expected 11, 13, 16 or 19", p->depth);
    SrNodeId x = in->image;
    sr_builder_push_block(b, "features", "Sequential");
    for (int s = 0; s < STAGES; s++) {
        for (int i = 0; i < convs[s]; i++)
            x = layer(b, p, &at, x, (int)(channels[s] * p->width_multiplier));
        sr_build_alias_numbered(b, x, "%d",
                                s); // timm's index: before each pooling, and after the last
        x = sr_build(b, "max_pool2d", sr_leaf(at++).s,
                     &(SrPool2dParams){.kernel_h = 2, .padding_w = -1}, x);
    }
    sr_builder_pop(b);
    sr_build_alias(b, "5", x);
    out->map = x;
    x = sr_build(b, "adaptive_avg_pool2d", "avgpool",
                 &(SrAdaptivePool2dParams){.out_h = 7, .out_w = 7}, x);
    x = sr_build(b, "flatten", "flatten", NULL, x);
    sr_build_alias(b, "flatten", x);
    out->pooled = x;
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const Vgg *p = params;
    SrNodeId x = features->pooled;
    int at = 0;
    sr_builder_push_block(b, "classifier", "Sequential");
    for (int i = 0; i < 2; i++) {
        x = sr_linear_normal(b, sr_leaf(at++).s, x, 4096, 0.01);
        x = sr_build(b, "relu", sr_leaf(at++).s, NULL, x);
        x = sr_dropout(b, sr_leaf(at++).s, x, p->dropout);
    }
    *logits = sr_linear_normal(b, sr_leaf(at++).s, x, preset->classes, 0.01);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

// clang-format off
static const SrPreset presets[] = {
    {"vgg11", "{DEPTH: 11}", "classifier.6", 1000},
    {"vgg13", "{DEPTH: 13}", "classifier.6", 1000},
    {"vgg16", "{DEPTH: 16}", "classifier.6", 1000},
    {"vgg19", "{DEPTH: 19}", "classifier.6", 1000},
    {"vgg11_bn", "{DEPTH: 11, BATCH_NORM: True}", "classifier.6", 1000},
    {"vgg13_bn", "{DEPTH: 13, BATCH_NORM: True}", "classifier.6", 1000},
    {"vgg16_bn", "{DEPTH: 16, BATCH_NORM: True}", "classifier.6", 1000},
    {"vgg19_bn", "{DEPTH: 19, BATCH_NORM: True}", "classifier.6", 1000},
};
// clang-format on

static const SrTrunkExample examples[] = {
    {"{DEPTH: 11, BATCH_NORM: True, WIDTH_MULTIPLIER: 0.0625}", 32, 64},
    {"{DEPTH: 13, WIDTH_MULTIPLIER: 0.0625}", 32, 0}};

const SrTrunk sr_trunk_vgg = {
    .name = "vgg",
    .help = "VGG of 11, 13, 16 or 19 layers",
    .subtree = "MODEL.TRUNK.VGG",
    .options = options,
    .params_bytes = sizeof(Vgg),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
