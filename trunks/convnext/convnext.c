// ConvNeXt (Liu et al., "A ConvNet for the 2020s", arXiv:2201.03545) as two trunks.  `convnext` has
// VISSL's form and names, which are the authors': features are pooled, then normalised.
// `torchvision_convnext` has torchvision's layers and names.
#include "graph/ir/token_blocks.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/stochastic_depth.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/norm/layer_scale.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/depth.h"
#include "trunks/trunk.h"

#define EPS 1e-6 // of all norms

typedef struct {
    SrInts depths, dims;
    double drop_path, layer_scale;
} Convnext;

#define FIELD(f) offsetof(Convnext, f)
// clang-format off
#define ROWS(depths_name, depths_, drop_path_name) \
    {depths_name, SR_OPT_INTS, FIELD(depths), depths_, 1, 1000, .help = "Number of blocks in each stage."}, \
    {"DIMS", SR_OPT_INTS, FIELD(dims), "[96, 192, 384, 768]", 1, 1 << 16, .help = "Number of channels in each stage."}, \
    {drop_path_name, SR_OPT_FLOAT, FIELD(drop_path), "0", 0, 0.99, \
     .help = "Probability of leaving out the last block; earlier ones have proportionally less."}
static const SrOption options[] = {
    ROWS("DEPTH", "[3, 3, 27, 3]", "DROP_PATH_RATE"),
    SR_OPTION_END,
};
static const SrOption torchvision_options[] = {
    ROWS("DEPTHS", "[3, 3, 9, 3]", "STOCHASTIC_DEPTH"),
    {"LAYER_SCALE", SR_OPT_FLOAT, FIELD(layer_scale), "1e-6", 0, 1e6,
     .help = "Initial value of the learned factors of branches (LayerScale)."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

// ---- layers of both

static void init(SrBuilder *b) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, 0.02});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
}

// Adds a convolution of patches: side and stride are equal.
static SrNodeId patches(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int side) {
    init(b);
    return sr_conv_bias(b, leaf, x, channels, side, side, 0);
}

static SrNodeId depthwise(SrBuilder *b, const char *leaf, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    SrConv2dParams p = {.out_channels = dim,
                        .kernel_h = 7,
                        .padding_h = 3,
                        .padding_w = -1,
                        .groups = dim,
                        .bias = true};
    init(b);
    return sr_build(b, "conv2d", leaf, &p, x);
}

// `done`: number of blocks before this one.
static double drop_of(const Convnext *p, int done) {
    return p->drop_path * done / SR_MAX(sr_depth_total(p->depths) - 1, 1);
}

static SrStatus check(SrBuilder *b, const Convnext *p, const char *depths_key) {
    if (p->depths.n == p->dims.n)
        return SR_OK;
    return sr_builder_fail(b, SR_ERR_CONFIG, "%s has %d numbers and DIMS %d, expected as many",
                           depths_key, p->depths.n, p->dims.n);
}

// ---- VISSL's trunk

static SrNodeId block(SrBuilder *b, SrNodeId x, double drop) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    SrNodeId y = sr_token_norm(b, "norm", depthwise(b, "dwconv", x), EPS);
    y = sr_token_linear(b, "pwconv1", y, 4 * dim, true, 0.02);
    y = sr_build(b, "gelu", "act", NULL, y);
    y = sr_token_linear(b, "pwconv2", y, dim, true, 0.02);
    y = sr_token_scaled(b, y, "gamma", 1e-6);
    if (drop > 0)
        y = sr_build(b, "stochastic_depth", "drop_path", &(SrStochasticDepthParams){.p = drop}, y);
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){x, y}, 2);
}

// Adds the stem, or a norm and a 2x2 convolution.
static SrNodeId downsample(SrBuilder *b, const Convnext *p, int s, SrNodeId x) {
    sr_builder_push(b, "downsample_layers");
    sr_builder_push_numbered(b, "Sequential", "%d", s);
    if (s == 0)
        x = sr_token_norm(b, "1", patches(b, "0", x, p->dims.v[0], 4), EPS);
    else
        x = patches(b, "1", sr_token_norm(b, "0", x, EPS), p->dims.v[s], 2);
    sr_builder_pop(b);
    sr_builder_pop(b);
    return x;
}

static SrNodeId stage(SrBuilder *b, const Convnext *p, int s, int first, SrNodeId x) {
    sr_builder_push(b, "stages");
    sr_builder_push_numbered(b, "Sequential", "%d", s);
    for (int i = 0; i < p->depths.v[s]; i++) {
        sr_builder_push_numbered(b, "Block", "%d", i);
        x = block(b, x, drop_of(p, first + i));
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "%d", s); // timm's index
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Convnext *p = params;
    SrNodeId x = in->image;
    SR_TRY(check(b, p, "MODEL.TRUNK.CONVNEXT: DEPTH"));
    for (int s = 0, first = 0; s < p->depths.n; first += p->depths.v[s++])
        x = stage(b, p, s, first, downsample(b, p, s, x));
    out->map = x;
    out->pooled = sr_token_norm(b, "norm", sr_build(b, "mean", "mean", NULL, x), EPS);
    sr_build_alias(b, "flatten", out->pooled);
    // VISSL returns this feature whatever the configuration asks for; its files ask for lastCLS.
    sr_build_alias(b, "lastCLS", out->pooled);
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {{"{DEPTH: [1, 2], DIMS: [8, 16]}", 32, 48}};

const SrTrunk sr_trunk_convnext = {
    .name = "convnext",
    .help = "VISSL's ConvNeXt",
    .subtree = "MODEL.TRUNK.CONVNEXT",
    .options = options,
    .params_bytes = sizeof(Convnext),
    .build = build,
    .examples = SR_LIST(examples),
};

// ---- torchvision's trunk

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
    x = sr_build(b, "layer_norm", "layer_norm", &(SrLayerNormParams){.eps = EPS}, x);
    x = permute(b, x, SR_CHANNELS_FIRST);
    sr_builder_pop(b);
    return x;
}

static SrNodeId branch(SrBuilder *b, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, "block", "Sequential");
    x = depthwise(b, "0", x);
    x = permute_module(b, "1", x, SR_CHANNELS_LAST);
    x = sr_token_norm(b, "2", x, EPS);
    x = sr_token_linear(b, "3", x, 4 * dim, true, 0.02);
    x = sr_build(b, "gelu", "4", NULL, x);
    x = sr_token_linear(b, "5", x, dim, true, 0.02);
    x = permute_module(b, "6", x, SR_CHANNELS_FIRST);
    sr_builder_pop(b);
    return x;
}

static SrNodeId torchvision_block(SrBuilder *b, const Convnext *p, SrNodeId x, double drop) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    sr_build_parameter_remark(b, "layer_scale", SR_SHAPE(dim, 1, 1));
    SrNodeId y = branch(b, x);
    sr_builder_set_entry(b, "weight", "layer_scale");
    y = sr_build(b, "layer_scale", "mul", &(SrLayerScaleParams){p->layer_scale, true}, y);
    y = sr_stochastic_depth(b, "stochastic_depth", y, drop);
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){y, x}, 2);
}

static SrNodeId torchvision_stage(SrBuilder *b, const Convnext *p, int s, int first, SrNodeId x) {
    sr_builder_push_numbered(b, "Sequential", "%d", 2 * s + 1);
    for (int i = 0; i < p->depths.v[s]; i++) {
        sr_builder_push_numbered(b, "CNBlock", "%d", i);
        x = torchvision_block(b, p, x, drop_of(p, first + i));
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "%d", s); // timm's index
    sr_build_alias_numbered(b, x, "res%d", s + 2);
    return x;
}

// Adds the stem, or a norm and a 2x2 convolution of stride 2.
static SrNodeId torchvision_downsample(SrBuilder *b, const Convnext *p, int s, SrNodeId x) {
    sr_builder_push_numbered(b, s ? "Sequential" : "Conv2dNormActivation", "%d", 2 * s);
    if (s == 0)
        x = norm2d(b, "1", patches(b, "0", x, p->dims.v[0], 4));
    else
        x = patches(b, "1", norm2d(b, "0", x), p->dims.v[s], 2);
    sr_builder_pop(b);
    return x;
}

static SrStatus build_torchvision(SrBuilder *b, const void *params, const SrTrunkInput *in,
                                  SrTrunkOutput *out) {
    const Convnext *p = params;
    SrNodeId x = in->image;
    SR_TRY(check(b, p, "MODEL.TRUNK.TORCHVISION_CONVNEXT: DEPTHS"));
    sr_builder_push_block(b, "features", "Sequential");
    for (int s = 0, first = 0; s < p->depths.n; first += p->depths.v[s++])
        x = torchvision_stage(b, p, s, first, torchvision_downsample(b, p, s, x));
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
    *logits = sr_token_linear(b, "2", features->pooled, preset->classes, true, 0.02);
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

static const SrTrunkExample torchvision_examples[] = {
    {"{DEPTHS: [1, 2, 1], DIMS: [8, 16, 20], LAYER_SCALE: 0.5, STOCHASTIC_DEPTH: 0.1}", 32, 48}};

const SrTrunk sr_trunk_torchvision_convnext = {
    .name = "torchvision_convnext",
    .help = "torchvision's ConvNeXt",
    .subtree = "MODEL.TRUNK.TORCHVISION_CONVNEXT",
    .options = torchvision_options,
    .params_bytes = sizeof(Convnext),
    .build = build_torchvision,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(torchvision_examples),
};
