// ConvNeXt (Liu et al., "A ConvNet for the 2020s", arXiv:2201.03545) in VISSL's form, which is the
// authors' code: features are pooled, then normalised.  The trunk torchvision_convnext has
// torchvision's names.

#include "kernels/basic/linear.h"
#include "kernels/basic/stochastic_depth.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/norm/layer_scale.h"
#include "trunks/trunk.h"

typedef struct {
    SrInts depth, dims;
    double drop_path;
} Convnext;

#define FIELD(f) offsetof(Convnext, f)
static const SrOption options[] = {
    {"DEPTH", SR_OPT_INTS, FIELD(depth), "[3, 3, 27, 3]", 1, 1000,
     .help = "Number of blocks in each stage."},
    {"DIMS", SR_OPT_INTS, FIELD(dims), "[96, 192, 384, 768]", 1, 1 << 16,
     .help = "Number of channels in each stage."},
    {"DROP_PATH_RATE", SR_OPT_FLOAT, FIELD(drop_path), "0", 0, 0.99,
     .help = "Probability of leaving out the last block; earlier ones have proportionally less."},
    SR_OPTION_END,
};
#undef FIELD

static const SrInit weights = {SR_INIT_NORMAL, 0.02}, zero = {SR_INIT_CONSTANT, 0};

static SrNodeId conv(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel,
                     int stride, int groups) {
    SrConv2dParams p = {.out_channels = channels,
                        .kernel_h = kernel,
                        .stride_h = stride,
                        .padding_h = groups > 1 ? kernel / 2 : 0,
                        .padding_w = -1,
                        .groups = groups,
                        .bias = true};
    sr_builder_set_init(b, "weight", weights);
    sr_builder_set_init(b, "bias", zero);
    return sr_build(b, "conv2d", leaf, &p, x);
}

static SrNodeId linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features) {
    sr_builder_set_init(b, "weight", weights);
    sr_builder_set_init(b, "bias", zero);
    return sr_build(b, "linear", leaf,
                    &(SrLinearParams){.out_features = out_features, .bias = true}, x);
}

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_build(b, "layer_norm", leaf, &(SrLayerNormParams){.eps = 1e-6}, x);
}

static SrNodeId block(SrBuilder *b, SrNodeId x, double drop) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    SrNodeId sum[2] = {x, SR_NO_NODE};
    SrNodeId y = conv(b, "dwconv", x, dim, 7, 1, dim);
    y = linear(b, "pwconv1", norm(b, "norm", y), 4 * dim);
    y = linear(b, "pwconv2", sr_build(b, "gelu", "act", NULL, y), dim);
    sr_builder_set_entry(b, "weight", "gamma");
    y = sr_build(b, "layer_scale", "mul", &(SrLayerScaleParams){.init = 1e-6}, y);
    if (drop > 0)
        y = sr_build(b, "stochastic_depth", "drop_path", &(SrStochasticDepthParams){.p = drop}, y);
    sum[1] = y;
    return sr_build_n(b, "add", "add", NULL, sum, 2);
}

// Adds the stem, or a norm and a 2x2 convolution.
static SrNodeId downsample(SrBuilder *b, const Convnext *p, int s, SrNodeId x) {
    sr_builder_push(b, "downsample_layers");
    sr_builder_push_numbered(b, "Sequential", "%d", s);
    if (s == 0)
        x = norm(b, "1", conv(b, "0", x, p->dims.v[0], 4, 4, 1));
    else
        x = conv(b, "1", norm(b, "0", x), p->dims.v[s], 2, 2, 1);
    sr_builder_pop(b);
    sr_builder_pop(b);
    return x;
}

static SrNodeId stage(SrBuilder *b, const Convnext *p, int s, int first, int total, SrNodeId x) {
    sr_builder_push(b, "stages");
    sr_builder_push_numbered(b, "Sequential", "%d", s);
    for (int i = 0; i < p->depth.v[s]; i++) {
        sr_builder_push_numbered(b, "Block", "%d", i);
        x = block(b, x, p->drop_path * (first + i) / SR_MAX(total - 1, 1));
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
    int total = 0, first = 0;
    SrNodeId x = in->image;
    if (p->depth.n != p->dims.n)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.CONVNEXT: DEPTH has %d numbers and DIMS %d, expected "
                               "as many",
                               p->depth.n, p->dims.n);
    for (int s = 0; s < p->depth.n; s++)
        total += p->depth.v[s];
    for (int s = 0; s < p->depth.n; first += p->depth.v[s++])
        x = stage(b, p, s, first, total, downsample(b, p, s, x));
    out->map = x;
    out->pooled = norm(b, "norm", sr_build(b, "mean", "mean", NULL, x));
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
