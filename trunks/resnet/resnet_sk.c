// SimCLRv2's ResNet with selective kernels (Chen et al., arXiv:2006.10029; Li et al.,
// arXiv:1903.06586) with VISSL's keys and names
// (vissl/models/trunks/resnext_selective_kernels.py).
//
// VISSL's behaviour is kept: the shortcut pads, pools and projects also at stride 1, and the
// mixing layer has at least 32 channels.  VISSL knows depth 152 only and always returns the
// pooled features; here other depths work and stages have names.

#include "kernels/basic/pad.h"
#include "kernels/basic/slice.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.RESNETS_SK"

typedef struct {
    int depth;
    double width_multiplier, sk_ratio;
    SrInts blocks;
} ResnetSk;

#define FIELD(f) offsetof(ResnetSk, f)
// clang-format off
static const SrOption options[] = {
    {"DEPTH", SR_OPT_INT, FIELD(depth), "152", 1, 1000, .help = "Number of layers: 50, 101, 152 or 200."},
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, FIELD(width_multiplier), "3", 0.03125, 16,
     .help = "Factor on the channels of every stage; a fraction makes a smaller net."},
    {"SK_RATIO", SR_OPT_FLOAT, FIELD(sk_ratio), "0.0625", 0, 1,
     .help = "Channels of the layer that mixes the kernels, as a share of the block's channels, at least 32; 0: no"
     " selective kernels."},
    {"BLOCKS", SR_OPT_INTS, FIELD(blocks), "[]", 1, 200,
     .help = "Number of blocks in each of the four stages (not in VISSL); empty: as DEPTH says."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

enum { STAGES = 4, MIN_MIXING = 32 };
static const struct {
    int depth, blocks[STAGES];
} layouts[] = {
    {50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}, {200, {3, 24, 36, 3}}};

static const int *blocks_of(const ResnetSk *p) {
    if (p->blocks.n == STAGES)
        return p->blocks.v;
    for (int i = 0; i < SR_COUNT(layouts); i++)
        if (layouts[i].depth == p->depth && p->blocks.n == 0)
            return layouts[i].blocks;
    return NULL;
}

// Adds BatchNormRelu: nodes <scope>.0 and <scope>.1.
static SrNodeId norm(SrBuilder *b, const char *scope, SrNodeId x, bool relu) {
    sr_builder_push_block(b, scope, "BatchNormRelu");
    x = sr_build(b, "batch_norm", "0", NULL, x);
    if (relu)
        x = sr_build(b, "relu", "1", NULL, x);
    sr_builder_pop(b);
    return x;
}

// Adds the next two modules of a Sequential: a convolution and BatchNormRelu.
static SrNodeId conv_norm(SrBuilder *b, int *at, SrNodeId x, int channels, int kernel, int stride) {
    x = sr_conv(b, sr_leaf((*at)++).s, x, channels, kernel, stride, 1);
    return norm(b, sr_leaf((*at)++).s, x, true);
}

// Means of the sum of both halves: (N, H, W, 2 C) -> (N, 1, 1, C)
static SrNodeId mean_of_halves(SrBuilder *b, SrNodeId x) {
    int C = sr_shape_last(sr_build_shape(b, x)) / 2;
    SrNodeId half[2];
    x = sr_build(b, "adaptive_avg_pool2d", "mean", &(SrAdaptivePool2dParams){0}, x);
    for (int i = 0; i < 2; i++)
        half[i] = sr_build(b, "slice", "chunk",
                           &(SrSliceParams){.begin = i * C, .count = C, .dim = 3}, x);
    return sr_build_n(b, "add", "sum", NULL, half, 2);
}

// Adds two 3x3 kernels whose share in each channel follows from the image's means.
static SrNodeId selective_kernel(SrBuilder *b, const ResnetSk *p, SrNodeId x, int channels,
                                 int stride) {
    int mid = SR_MAX((int)(channels * p->sk_ratio), MIN_MIXING), at = 0;
    sr_builder_push_block(b, "main_conv", "Sequential");
    x = conv_norm(b, &at, x, 2 * channels, 3, stride);
    sr_builder_pop(b);
    SrNodeId g = mean_of_halves(b, x);
    at = 0;
    sr_builder_push_block(b, "mixing_conv", "Sequential");
    g = sr_conv(b, "2", conv_norm(b, &at, g, mid, 1, 1), 2 * channels, 1, 1, 1);
    sr_builder_pop(b);
    return sr_build_n(b, "mix_halves", "sum", NULL, (SrNodeId[]){x, g}, 2);
}

static SrNodeId zero_pad(SrBuilder *b, SrNodeId x) {
    x = sr_build(b, "pad", "0", &(SrPadParams){.after = 1, .dim = 1}, x);
    return sr_build(b, "pad", "0", &(SrPadParams){.after = 1, .dim = 2}, x);
}

static SrNodeId projection(SrBuilder *b, const ResnetSk *p, SrNodeId x, int channels, int stride) {
    SrPool2dParams pool = {.kernel_h = 2, .stride_h = stride, .padding_w = -1};
    sr_builder_push_block(b, "projection", "Projection");
    if (p->sk_ratio > 0) {
        sr_builder_push_block(b, "shortcut", "Sequential");
        x = sr_build(b, "avg_pool2d", "1", &pool, zero_pad(b, x));
        x = sr_conv(b, "2", x, channels, 1, 1, 1);
        sr_builder_pop(b);
    } else {
        x = sr_conv(b, "shortcut", x, channels, 1, stride, 1);
    }
    x = norm(b, "bn", x, false);
    sr_builder_pop(b);
    return x;
}

static SrNodeId branch(SrBuilder *b, const ResnetSk *p, SrNodeId x, int channels, int stride) {
    int at = 0;
    sr_builder_push_block(b, "net", "Sequential");
    x = conv_norm(b, &at, x, channels, 1, 1);
    if (p->sk_ratio > 0) {
        sr_builder_push_numbered(b, "SelectiveKernel", "%d", at++);
        x = selective_kernel(b, p, x, channels, stride);
        sr_builder_pop(b);
    } else {
        x = conv_norm(b, &at, x, channels, 3, stride);
    }
    x = sr_conv(b, sr_leaf(at++).s, x, 4 * channels, 1, 1, 1);
    x = norm(b, sr_leaf(at++).s, x, false);
    sr_builder_pop(b);
    return x;
}

static SrNodeId stage(SrBuilder *b, const ResnetSk *p, int s, int blocks, SrNodeId x) {
    int channels = (int)((64 << s) * p->width_multiplier);
    sr_builder_push_numbered(b, "Blocks", "%d", s + 1);
    sr_builder_push(b, "blocks");
    for (int i = 0; i < blocks; i++) {
        int stride = s > 0 && i == 0 ? 2 : 1;
        SrNodeId sum[2] = {x, SR_NO_NODE};
        sr_builder_push_numbered(b, "BottleneckBlock", "%d", i);
        if (i == 0)
            sum[0] = projection(b, p, x, 4 * channels, stride);
        sum[1] = branch(b, p, x, channels, stride);
        x = sr_build(b, "relu", "relu", NULL, sr_build_n(b, "add", "add", NULL, sum, 2));
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "res%d", s + 2);
    sr_build_alias_numbered(b, x, "%d", s + 1); // timm's indices
    return x;
}

static SrNodeId stem(SrBuilder *b, const ResnetSk *p, SrNodeId x) {
    int half = (int)(64 * p->width_multiplier) / 2, at = 0;
    SrPool2dParams pool = {.kernel_h = 3, .stride_h = 2, .padding_h = 1, .padding_w = -1};
    sr_builder_push_block(b, "0", "Stem");
    if (p->sk_ratio > 0) {
        x = conv_norm(b, &at, x, half, 3, 2);
        x = conv_norm(b, &at, x, half, 3, 1);
        x = conv_norm(b, &at, x, 2 * half, 3, 1);
    } else {
        x = conv_norm(b, &at, x, 2 * half, 7, 2);
    }
    sr_build_alias(b, "conv1", x);
    sr_build_alias(b, "0", x);
    x = sr_build(b, "max_pool2d", sr_leaf(at++).s, &pool, x);
    sr_builder_pop(b);
    sr_build_alias(b, "res1", x);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const ResnetSk *p = params;
    const int *blocks = blocks_of(p);
    if (!blocks)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            SUBTREE
            ": DEPTH is %d, expected 50, 101, 152 or 200; or else BLOCKS needs 4 stages, it has %d",
            p->depth, p->blocks.n);
    sr_builder_push_block(b, "net", "Sequential");
    SrNodeId x = stem(b, p, in->image);
    for (int s = 0; s < STAGES; s++)
        x = stage(b, p, s, blocks[s], x);
    sr_builder_pop(b);
    out->map = x;
    out->pooled = sr_pool_flatten_named(b, x, "mean", "res5avg");
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {
    {"{BLOCKS: [1, 2, 1, 1], WIDTH_MULTIPLIER: 0.0625}", 32, 48},
    {"{BLOCKS: [1, 1, 1, 1], WIDTH_MULTIPLIER: 0.0625, SK_RATIO: 0}", 32, 0}};

const SrTrunk sr_trunk_resnet_sk = {
    .name = "resnet_sk",
    .help = "SimCLRv2's ResNet with selective kernels",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(ResnetSk),
    .build = build,
    .examples = SR_LIST(examples),
};
