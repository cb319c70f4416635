// MobileNetV2 (Sandler et al., arXiv:1801.04381) with torchvision's layers and names.

#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    double width_multiplier, dropout;
} MobilenetV2;

#define FIELD(f) offsetof(MobilenetV2, f)
static const SrOption options[] = {
    SR_ROW_WIDTH_MULTIPLIER(0.0625),
    SR_ROW_DROPOUT("0.2"),
    SR_OPTION_END,
};
#undef FIELD

// arXiv:1801.04381, table 2.
static const struct {
    int expand, channels, blocks, stride;
} stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
              {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

// Adds "conv.<i>": a convolution with its norm inside, or the last one, whose norm is a module of
// its own.
static SrNodeId inverted_residual(SrBuilder *b, SrNodeId x, int expand, int channels, int stride) {
    int i = 0, in = sr_shape_last(sr_build_shape(b, x)), wide = in * expand;
    bool residual = stride == 1 && in == channels;
    SrNodeId sum[2] = {x, SR_NO_NODE}, y = x;
    sr_builder_push_block(b, "conv", "Sequential");
    if (expand != 1) {
        SrConvNorm p = {.channels = wide, .kernel = 1, .activation = "relu6"};
        y = sr_conv_norm(b, sr_leaf(i++).s, y, &p);
    }
    y = sr_conv_norm(b, sr_leaf(i++).s, y,
                     &(SrConvNorm){.channels = wide,
                                   .kernel = 3,
                                   .stride = stride,
                                   .groups = wide,
                                   .activation = "relu6"});
    y = sr_conv_norm_flat(b, i, y, &(SrConvNorm){.channels = channels, .kernel = 1});
    sr_builder_pop(b);
    sum[1] = y;
    return residual ? sr_build_n(b, "add", "add", NULL, sum, 2) : y;
}

// Blocks are numbered through, features.1 to features.17, without stages.
static SrNodeId blocks(SrBuilder *b, const MobilenetV2 *p, SrNodeId x) {
    int at = 1, reduction = 0;
    for (int s = 0; s < SR_COUNT(stages); s++) {
        int channels = sr_make_divisible(stages[s].channels * p->width_multiplier, 8);
        for (int i = 0; i < stages[s].blocks; i++) {
            sr_builder_push_numbered(b, "InvertedResidual", "%d", at++);
            x = inverted_residual(b, x, stages[s].expand, channels, i == 0 ? stages[s].stride : 1);
            sr_builder_pop(b);
        }
        if (s + 1 < SR_COUNT(stages) && stages[s + 1].stride == 1)
            continue;
        sr_build_alias_numbered(b, x, "%d",
                                reduction++); // timm's index: last map of each resolution
    }
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const MobilenetV2 *p = params;
    SrConvNorm stem = {.channels = sr_make_divisible(32 * p->width_multiplier, 8),
                       .kernel = 3,
                       .stride = 2,
                       .activation = "relu6"};
    SrConvNorm last = {.channels = sr_make_divisible(1280 * SR_MAX(1.0, p->width_multiplier), 8),
                       .kernel = 1,
                       .activation = "relu6"};
    sr_builder_push_block(b, "features", "Sequential");
    SrNodeId x = blocks(b, p, sr_conv_norm(b, "0", in->image, &stem));
    x = sr_conv_norm(b, "18", x, &last);
    sr_builder_pop(b);
    out->map = x;
    out->pooled = sr_pool_flatten_named(b, x, "adaptive_avg_pool2d", NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const MobilenetV2 *p = params;
    sr_builder_push_block(b, "classifier", "Sequential");
    SrNodeId x = sr_dropout(b, "0", features->pooled, p->dropout);
    *logits = sr_linear_normal(b, "1", x, preset->classes, 0.01);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {{"mobilenet_v2", "{}", "classifier.1", 1000}};

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.25}", 32, 48}};

const SrTrunk sr_trunk_mobilenet_v2 = {
    .name = "mobilenet_v2",
    .help = "MobileNetV2",
    .subtree = "MODEL.TRUNK.MOBILENET_V2",
    .options = options,
    .params_bytes = sizeof(MobilenetV2),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
