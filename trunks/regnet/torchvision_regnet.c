// RegNetX and RegNetY (Radosavovic et al., arXiv:2003.13678) with torchvision's layers and
// names.  The trunk regnet has VISSL's names, which are ClassyVision's.
#include <math.h>

#include "trunks/regnet/regnet_layout.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/trunk.h"

typedef struct {
    SrRegnetParams layout;
    double se_ratio;
} Regnet;

#define FIELD(f) offsetof(Regnet, f)
static const SrOption options[] = {
    {"DEPTH", SR_OPT_INT, FIELD(layout.depth), "16", 1, 1000, .help = "Blocks."},
    {"W_0", SR_OPT_FLOAT, FIELD(layout.w_0), "48", 8, 1e5, .help = "Width of the first block."},
    {"W_A", SR_OPT_FLOAT, FIELD(layout.w_a), "27.89", 0, 1e5,
     .help = "Slope of the width from block to block."},
    {"W_M", SR_OPT_FLOAT, FIELD(layout.w_m), "2.09", 1.01, 100,
     .help = "Ratio of the widths of consecutive stages."},
    {"GROUP_WIDTH", SR_OPT_INT, FIELD(layout.group_width), "8", 1, 1 << 16,
     .help = "Number of channels per group in the 3x3 convolution."},
    {"SE_RATIO", SR_OPT_FLOAT, FIELD(se_ratio), "0", 0, 4,
     .help = "Channels inside squeeze-excitation, as a share of those before the block; 0: no "
             "squeeze-excitation (RegNetX)."},
    SR_OPTION_END,
};
#undef FIELD

static SrNodeId branch(SrBuilder *b, const Regnet *p, SrNodeId x, int width, int groups,
                       int stride) {
    int in = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, "f", "BottleneckTransform");
    x = sr_conv_norm(b, "a", x,
                     &(SrConvNorm){.channels = width, .kernel = 1, .activation = "relu"});
    x = sr_conv_norm(b, "b", x,
                     &(SrConvNorm){.channels = width,
                                   .kernel = 3,
                                   .stride = stride,
                                   .groups = groups,
                                   .activation = "relu"});
    if (p->se_ratio > 0)
        x = sr_squeeze_excitation(
            b, "se", x,
            &(SrSqueezeExcitation){SR_MAX(1, (int)rint(p->se_ratio * in)), "relu", "sigmoid"});
    x = sr_conv_norm(b, "c", x, &(SrConvNorm){.channels = width, .kernel = 1});
    sr_builder_pop(b);
    return x;
}

// relu(shortcut(x) + branch(x)); the shortcut runs first, as in torchvision.
static SrNodeId block(SrBuilder *b, const Regnet *p, SrNodeId x, int width, int groups,
                      int stride) {
    SrNodeId sum[2] = {x, SR_NO_NODE};
    if (stride != 1 || sr_shape_last(sr_build_shape(b, x)) != width)
        sum[0] = sr_conv_norm(b, "proj", x,
                              &(SrConvNorm){.channels = width, .kernel = 1, .stride = stride});
    sum[1] = branch(b, p, x, width, groups, stride);
    x = sr_build_n(b, "add", "add", NULL, sum, 2);
    return sr_build(b, "relu", "activation", NULL, x);
}

static SrNodeId stage(SrBuilder *b, const Regnet *p, const SrRegnetLayout *layout, int s,
                      SrNodeId x) {
    sr_builder_push_numbered(b, "AnyStage", "block%d", s + 1);
    for (int i = 0; i < layout->blocks[s]; i++) {
        sr_builder_push_numbered(b, "ResBottleneckBlock", "block%d-%d", s + 1, i);
        x = block(b, p, x, layout->width[s], layout->width[s] / layout->group_width[s],
                  i == 0 ? 2 : 1);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "res%d", s + 2);
    sr_build_alias_numbered(b, x, "%d", s + 1); // timm's
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Regnet *p = params;
    SrRegnetParams widths = p->layout;
    widths.bottleneck = 1;
    SrRegnetLayout layout = sr_regnet_layout(&widths);
    SrConvNorm stem = {.channels = 32, .kernel = 3, .stride = 2, .activation = "relu"};
    SrNodeId x = sr_conv_norm(b, "stem", in->image, &stem);
    sr_build_alias(b, "0", x);
    sr_builder_push_block(b, "trunk_output", "Sequential");
    for (int s = 0; s < layout.n; s++)
        x = stage(b, p, &layout, s, x);
    sr_builder_pop(b);
    out->map = x;
    out->pooled = sr_pool_flatten(b, x, NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    *logits = sr_linear_normal(b, "fc", features->pooled, preset->classes, 0.01);
    return sr_builder_status(b);
}

// clang-format off
static const SrPreset presets[] = {
    {"regnet_y_400mf", "{DEPTH: 16, W_0: 48, W_A: 27.89, W_M: 2.09, GROUP_WIDTH: 8, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_800mf", "{DEPTH: 14, W_0: 56, W_A: 38.84, W_M: 2.4, GROUP_WIDTH: 16, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_1_6gf", "{DEPTH: 27, W_0: 48, W_A: 20.71, W_M: 2.65, GROUP_WIDTH: 24, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_3_2gf", "{DEPTH: 21, W_0: 80, W_A: 42.63, W_M: 2.66, GROUP_WIDTH: 24, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_8gf", "{DEPTH: 17, W_0: 192, W_A: 76.82, W_M: 2.19, GROUP_WIDTH: 56, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_16gf", "{DEPTH: 18, W_0: 200, W_A: 106.23, W_M: 2.48, GROUP_WIDTH: 112, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_32gf", "{DEPTH: 20, W_0: 232, W_A: 115.89, W_M: 2.53, GROUP_WIDTH: 232, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_128gf", "{DEPTH: 27, W_0: 456, W_A: 160.83, W_M: 2.52, GROUP_WIDTH: 264, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_x_400mf", "{DEPTH: 22, W_0: 24, W_A: 24.48, W_M: 2.54, GROUP_WIDTH: 16}", "fc", 1000},
    {"regnet_x_800mf", "{DEPTH: 16, W_0: 56, W_A: 35.73, W_M: 2.28, GROUP_WIDTH: 16}", "fc", 1000},
    {"regnet_x_1_6gf", "{DEPTH: 18, W_0: 80, W_A: 34.01, W_M: 2.25, GROUP_WIDTH: 24}", "fc", 1000},
    {"regnet_x_3_2gf", "{DEPTH: 25, W_0: 88, W_A: 26.31, W_M: 2.25, GROUP_WIDTH: 48}", "fc", 1000},
    {"regnet_x_8gf", "{DEPTH: 23, W_0: 80, W_A: 49.56, W_M: 2.88, GROUP_WIDTH: 120}", "fc", 1000},
    {"regnet_x_16gf", "{DEPTH: 22, W_0: 216, W_A: 55.59, W_M: 2.1, GROUP_WIDTH: 128}", "fc", 1000},
    {"regnet_x_32gf", "{DEPTH: 23, W_0: 320, W_A: 69.86, W_M: 2.0, GROUP_WIDTH: 168}", "fc", 1000},
};
// clang-format on

static const SrTrunkExample examples[] = {
    {"{DEPTH: 4, W_0: 8, W_A: 8, W_M: 2, GROUP_WIDTH: 8, SE_RATIO: 0.25}", 32, 48}};

const SrTrunk sr_trunk_torchvision_regnet = {
    .name = "torchvision_regnet",
    .help = "torchvision's RegNetX and RegNetY",
    .subtree = "MODEL.TRUNK.TORCHVISION_REGNET",
    .options = options,
    .params_bytes = sizeof(Regnet),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
