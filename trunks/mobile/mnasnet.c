// MNASNet-B1 (Tan et al., "MnasNet: platform-aware neural architecture search for mobile",
// arXiv:1807.11626, figure 7) with torchvision's layers and names.
#include <math.h>

#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    double width_multiplier, dropout;
} Mnasnet;

#define FIELD(f) offsetof(Mnasnet, f)
static const SrOption options[] = {
    SR_ROW_WIDTH_MULTIPLIER(0.0625),
    SR_ROW_DROPOUT("0.2"),
    SR_OPTION_END,
};
#undef FIELD

// Settings of the stacks layers.8 to layers.13.
static const struct {
    int channels, kernel, stride, expand, blocks;
} stacks[] = {{24, 3, 2, 3, 3}, {40, 5, 2, 3, 3},  {80, 5, 2, 6, 3},
              {96, 3, 1, 6, 2}, {192, 5, 2, 6, 4}, {320, 3, 1, 6, 1}};

static int adjusted(const Mnasnet *p, int channels) {
    return sr_make_divisible(channels * p->width_multiplier, 8);
}

// Adds modules <i> (convolution), <i + 1> (norm) and <i + 2> (ReLU).
static SrNodeId conv(SrBuilder *b, int i, SrNodeId x, SrConvNorm c, bool relu) {
    c.eps = 1e-5;
    c.momentum = 1 - 0.9997; // TensorFlow's decay
    c.activation = relu ? "relu" : NULL;
    return sr_conv_norm_flat(b, i, x, &c);
}

static SrNodeId inverted_residual(SrBuilder *b, int stack, SrNodeId x, int channels, int stride) {
    int in = sr_shape_last(sr_build_shape(b, x)), wide = in * stacks[stack].expand;
    bool residual = stride == 1 && in == channels;
    SrNodeId sum[2] = {SR_NO_NODE, x}, y;
    sr_builder_push_block(b, "layers", "Sequential");
    y = conv(b, 0, x, (SrConvNorm){.channels = wide, .kernel = 1}, true);
    y = conv(
        b, 3, y,
        (SrConvNorm){
            .channels = wide, .kernel = stacks[stack].kernel, .stride = stride, .groups = wide},
        true);
    sum[0] = conv(b, 6, y, (SrConvNorm){.channels = channels, .kernel = 1}, false);
    sr_builder_pop(b);
    return residual ? sr_build_n(b, "add", "add", NULL, sum, 2) : sum[0];
}

static SrNodeId stack(SrBuilder *b, const Mnasnet *p, int s, SrNodeId x) {
    sr_builder_push_numbered(b, "Sequential", "%d", s + 8);
    for (int i = 0; i < stacks[s].blocks; i++) {
        sr_builder_push_numbered(b, "_InvertedResidual", "%d", i);
        x = inverted_residual(b, s, x, adjusted(p, stacks[s].channels),
                              i == 0 ? stacks[s].stride : 1);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Mnasnet *p = params;
    int wide = adjusted(p, 32), index = 0;
    sr_builder_push_block(b, "layers", "Sequential");
    SrNodeId x =
        conv(b, 0, in->image, (SrConvNorm){.channels = wide, .kernel = 3, .stride = 2}, true);
    x = conv(b, 3, x, (SrConvNorm){.channels = wide, .kernel = 3, .groups = wide}, true);
    x = conv(b, 6, x, (SrConvNorm){.channels = adjusted(p, 16), .kernel = 1}, false);
    sr_build_alias(b, "0", x);
    for (int s = 0; s < SR_COUNT(stacks); s++) {
        x = stack(b, p, s, x);
        if (s + 1 < SR_COUNT(stacks) && stacks[s + 1].stride == 1)
            continue;
        sr_build_alias_numbered(b, x, "%d", ++index); // timm's index: last map of each resolution
    }
    x = conv(b, 14, x, (SrConvNorm){.channels = 1280, .kernel = 1}, true);
    sr_builder_pop(b);
    out->map = x;
    out->pooled = sr_build(b, "mean", "mean", NULL, x);
    sr_build_alias(b, "flatten", out->pooled);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const Mnasnet *p = params;
    sr_builder_push_block(b, "classifier", "Sequential");
    SrNodeId x = sr_dropout(b, "0", features->pooled, p->dropout);
    // torch.nn.init.kaiming_uniform_(mode="fan_out", nonlinearity="sigmoid")
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_UNIFORM, sqrt(3.0 / preset->classes)});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    *logits = sr_linear_normal(b, "1", x, preset->classes, 0);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {
    {"mnasnet0_5", "{WIDTH_MULTIPLIER: 0.5}", "classifier.1", 1000},
    {"mnasnet0_75", "{WIDTH_MULTIPLIER: 0.75}", "classifier.1", 1000},
    {"mnasnet1_0", "{}", "classifier.1", 1000},
    {"mnasnet1_3", "{WIDTH_MULTIPLIER: 1.3}", "classifier.1", 1000},
};

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.25}", 32, 48}};

const SrTrunk sr_trunk_mnasnet = {
    .name = "mnasnet",
    .help = "MNASNet-B1",
    .subtree = "MODEL.TRUNK.MNASNET",
    .options = options,
    .params_bytes = sizeof(Mnasnet),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
