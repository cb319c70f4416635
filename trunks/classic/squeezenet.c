// SqueezeNet 1.0 and 1.1 (Iandola et al., arXiv:1602.07360) with torchvision's layers and names.
#include <math.h>

#include "kernels/basic/concat.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    int version;
    double width_multiplier, dropout;
} Squeezenet;

#define FIELD(f) offsetof(Squeezenet, f)
static const SrOption options[] = {
    {"VERSION", SR_OPT_ENUM, FIELD(version), "v1_0", .choices = "v1_0|v1_1",
     .help = "Version of the net; v1_1 pools earlier and needs 2.4 times less computation."},
    SR_ROW_WIDTH_MULTIPLIER(0.0625),
    SR_ROW_DROPOUT("0.5"),
    SR_OPTION_END,
};
#undef FIELD

enum { FIRES = 8 };
static const struct {
    int channels, kernel;    // of the stem
    bool pool_before[FIRES]; // true: a pooling precedes the module
} versions[] = {{96, 7, {true, false, false, true, false, false, false, true}},
                {64, 3, {true, false, true, false, true, false, false, false}}};
static const struct { // the paper's table 1
    int squeeze, expand;
} fires[FIRES] = {{16, 64},  {16, 64},  {32, 128}, {32, 128},
                  {48, 192}, {48, 192}, {64, 256}, {64, 256}};

static int channels_of(const Squeezenet *p, int channels) {
    return SR_MAX(1, (int)(channels * p->width_multiplier));
}

// Initial weights follow kaiming_uniform_ with bounds of sqrt(6 / fan_in); biases are 0.
static SrNodeId conv(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel,
                     int stride, int padding) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_UNIFORM_FAN_IN, sqrt(6)});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_conv_bias(b, leaf, x, channels, kernel, stride, padding);
}

static SrNodeId fire(SrBuilder *b, const Squeezenet *p, int i, SrNodeId x) {
    SrNodeId wide[2];
    int expand = channels_of(p, fires[i].expand);
    x = conv(b, "squeeze", x, channels_of(p, fires[i].squeeze), 1, 1, 0);
    x = sr_build(b, "relu", "squeeze_activation", NULL, x);
    wide[0] = conv(b, "expand1x1", x, expand, 1, 1, 0);
    wide[0] = sr_build(b, "relu", "expand1x1_activation", NULL, wide[0]);
    wide[1] = conv(b, "expand3x3", x, expand, 3, 1, 1);
    wide[1] = sr_build(b, "relu", "expand3x3_activation", NULL, wide[1]);
    return sr_build_n(b, "concat", "cat", &(SrConcatParams){3}, wide, 2);
}

static SrNodeId features(SrBuilder *b, const Squeezenet *p, SrNodeId x) {
    SrPool2dParams pool = {.kernel_h = 3, .stride_h = 2, .padding_w = -1, .ceil_mode = true};
    int at = 0, index = 0, kernel = versions[p->version].kernel;
    x = conv(b, sr_leaf(at++).s, x, channels_of(p, versions[p->version].channels), kernel, 2, 0);
    x = sr_build(b, "relu", sr_leaf(at++).s, NULL, x);
    for (int i = 0; i < FIRES; i++) {
        if (versions[p->version].pool_before[i]) {
            sr_build_alias_numbered(b, x, "%d", index++); // timm's: last map of a resolution
            x = sr_build(b, "max_pool2d", sr_leaf(at++).s, &pool, x);
        }
        sr_builder_push_block(b, sr_leaf(at++).s, "Fire");
        x = fire(b, p, i, x);
        sr_builder_pop(b);
    }
    sr_build_alias_numbered(b, x, "%d", index);
    return x;
}

// torchvision's net has no pooled features: its classifier is a convolution of the map.
static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    sr_builder_push_block(b, "features", "Sequential");
    out->map = features(b, params, in->image);
    sr_builder_pop(b);
    bool aside = sr_builder_set_aside(b, true);
    sr_builder_push(b, "pooled");
    out->pooled = sr_pool_flatten(b, out->map, NULL);
    sr_builder_pop(b);
    sr_builder_set_aside(b, aside);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features_of, SrNodeId *logits) {
    const Squeezenet *p = params;
    sr_builder_push_block(b, "classifier", "Sequential");
    SrNodeId x = sr_dropout(b, "0", features_of->map, p->dropout);
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, 0.01});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    x = sr_conv_bias(b, "1", x, preset->classes, 1, 1, 0);
    x = sr_build(b, "relu", "2", NULL, x);
    x = sr_build(b, "adaptive_avg_pool2d", "3", &(SrAdaptivePool2dParams){0}, x);
    sr_builder_pop(b);
    *logits = sr_build(b, "flatten", "flatten", NULL, x);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {
    {"squeezenet1_0", "{VERSION: v1_0}", "classifier.1", 1000},
    {"squeezenet1_1", "{VERSION: v1_1}", "classifier.1", 1000},
};

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.25}", 48, 64},
                                          {"{VERSION: v1_1, WIDTH_MULTIPLIER: 0.5}", 32, 0}};

const SrTrunk sr_trunk_squeezenet = {
    .name = "squeezenet",
    .help = "SqueezeNet 1.0 and 1.1",
    .subtree = "MODEL.TRUNK.SQUEEZENET",
    .options = options,
    .params_bytes = sizeof(Squeezenet),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
