// AlexNet in one column (Krizhevsky, arXiv:1404.5997) with torchvision's layers and names.  VISSL's
// five variants are separate trunks (trunks/classic/alexnets.c).

#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    double width_multiplier, dropout;
} Alexnet;

#define FIELD(f) offsetof(Alexnet, f)
static const SrOption options[] = {
    SR_ROW_WIDTH_MULTIPLIER(0.015625),
    SR_ROW_DROPOUT("0.5"),
    SR_OPTION_END,
};
#undef FIELD

static const struct {
    int channels, kernel, stride, padding;
    bool pooled;
} layers_of[] = {{64, 11, 4, 2, true},
                 {192, 5, 1, 2, true},
                 {384, 3, 1, 1, false},
                 {256, 3, 1, 1, false},
                 {256, 3, 1, 1, true}};

static SrNodeId layer(SrBuilder *b, const Alexnet *p, int i, int *at, SrNodeId x) {
    int channels = (int)(layers_of[i].channels * p->width_multiplier);
    x = sr_conv_bias(b, sr_leaf((*at)++).s, x, channels, layers_of[i].kernel, layers_of[i].stride,
                     layers_of[i].padding);
    x = sr_build(b, "relu", sr_leaf((*at)++).s, NULL, x);
    sr_build_alias_numbered(b, x, "conv%d", i + 1);
    if (!layers_of[i].pooled)
        return x;
    x = sr_build(b, "max_pool2d", sr_leaf((*at)++).s,
                 &(SrPool2dParams){.kernel_h = 3, .stride_h = 2, .padding_w = -1}, x);
    sr_build_alias_numbered(b, x, "pool%d", i + 1);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Alexnet *p = params;
    SrNodeId x = in->image;
    int at = 0;
    sr_builder_push_block(b, "features", "Sequential");
    for (int i = 0; i < SR_COUNT(layers_of); i++)
        x = layer(b, p, i, &at, x);
    sr_builder_pop(b);
    out->map = x;
    x = sr_build(b, "adaptive_avg_pool2d", "avgpool",
                 &(SrAdaptivePool2dParams){.out_h = 6, .out_w = 6}, x);
    x = sr_build(b, "flatten", "flatten", NULL, x);
    sr_build_alias(b, "flatten", x);
    out->pooled = x;
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const Alexnet *p = params;
    SrNodeId x = features->pooled;
    int at = 0;
    sr_builder_push_block(b, "classifier", "Sequential");
    for (int i = 0; i < 2; i++) {
        x = sr_dropout(b, sr_leaf(at++).s, x, p->dropout);
        x = sr_linear_normal(b, sr_leaf(at++).s, x, 4096, 0);
        x = sr_build(b, "relu", sr_leaf(at++).s, NULL, x);
    }
    *logits = sr_linear_normal(b, sr_leaf(at++).s, x, preset->classes, 0);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {{"alexnet", "{}", "classifier.6", 1000}};

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 64, 80}};

const SrTrunk sr_trunk_alexnet = {
    .name = "alexnet",
    .help = "AlexNet as torchvision has it",
    .subtree = "MODEL.TRUNK.ALEXNET",
    .options = options,
    .params_bytes = sizeof(Alexnet),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
