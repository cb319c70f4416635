// torchvision's MaxViT (Tu et al., "MaxViT: multi-axis vision transformer", arXiv:2204.01697)
// with its nodes, names and initial values: an inverted residual block, attention within windows,
// and attention over a grid of strided positions.
//
// Maps must consist of whole windows: images of 224 pixels or another multiple of 32 times the
// window.
#include <math.h>

#include "graph/ir/token_blocks.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/relative_bias.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/reshape.h"
#include "kernels/norm/batch_norm.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/depth.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.TORCHVISION_MAXVIT"

typedef struct {
    int stem, head_dim, partition;
    SrInts channels, layers;
    double stochastic_depth, dropout, attention_dropout;
} Maxvit;

#define FIELD(f) offsetof(Maxvit, f)
// clang-format off
static const SrOption options[] = {
    {"STEM_CHANNELS", SR_OPT_INT, FIELD(stem), "64", 1, 65536, .help = "Number of channels of the stem."},
    {"BLOCK_CHANNELS", SR_OPT_INTS, FIELD(channels), "[64, 128, 256, 512]", 1, 65536, .help = "Number of channels in"
     " each block."},
    {"BLOCK_LAYERS", SR_OPT_INTS, FIELD(layers), "[2, 2, 5, 2]", 1, 1024, .help = "Number of layers in each block."},
    {"HEAD_DIM", SR_OPT_INT, FIELD(head_dim), "32", 1, 65536, .help = "Number of channels per attention head."},
    {"PARTITION_SIZE", SR_OPT_INT, FIELD(partition), "7", 1, 1024, .help = "Side of a window and of a grid, in tokens."},
    {"STOCHASTIC_DEPTH", SR_OPT_FLOAT, FIELD(stochastic_depth), "0.2", 0, 0.99,
     .help = "Probability of leaving out a branch of the last layer; earlier layers have proportionally less."},
    {"DROPOUT", SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99, .help = "Dropout in the MLPs."},
    {"ATTENTION_DROPOUT", SR_OPT_FLOAT, FIELD(attention_dropout), "0", 0, 0.99, .help = "Dropout of the attention's output."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

// ---- convolutions

// Adds a convolution with a bias whose padding keeps the size.
static SrNodeId conv(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, 0.02});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_conv_bias(b, leaf, x, channels, kernel, 1, kernel / 2);
}

static SrNodeId conv_norm(SrBuilder *b, const char *scope, SrNodeId x, int channels, int kernel,
                          int stride, int groups) {
    return sr_conv_norm(b, scope, x,
                        &(SrConvNorm){.channels = channels,
                                      .kernel = kernel,
                                      .stride = stride,
                                      .groups = groups,
                                      .activation = "gelu",
                                      .eps = 1e-3,
                                      .momentum = 0.99,
                                      .deviation = 0.02});
}

// Adds stochastic depth, or torch.nn.Identity if the probability is 0.
static SrNodeId depth(SrBuilder *b, SrNodeId x, double drop) {
    return drop > 0 ? sr_stochastic_depth(b, "stochastic_depth", x, drop)
                    : sr_build(b, "identity", "stochastic_depth", NULL, x);
}

static SrNodeId shortcut(SrBuilder *b, SrNodeId x, int channels, int stride) {
    SrPool2dParams pool = {.kernel_h = 3, .stride_h = stride, .padding_h = 1, .padding_w = -1};
    if (stride == 1 && sr_shape_last(sr_build_shape(b, x)) == channels)
        return sr_build(b, "identity", "proj", NULL, x);
    sr_builder_push_block(b, "proj", "Sequential");
    if (stride == 2)
        x = sr_build(b, "avg_pool2d", "0", &pool, x);
    x = conv(b, stride == 2 ? "1" : "0", x, channels, 1);
    sr_builder_pop(b);
    return x;
}

static SrNodeId mbconv(SrBuilder *b, SrNodeId x, int channels, int stride, double drop) {
    int wide = 4 * channels;
    SrSqueezeExcitation gate = {channels / 4, "silu", "sigmoid", .deviation = 0.02};
    sr_builder_push_block(b, "MBconv", "MBConv");
    SrNodeId sum[2] = {shortcut(b, x, channels, stride), SR_NO_NODE};
    sr_builder_push_block(b, "layers", "Sequential");
    x = sr_build(b, "batch_norm", "pre_norm", &(SrBatchNormParams){.eps = 1e-3, .momentum = 0.99},
                 x);
    x = conv_norm(b, "conv_a", x, wide, 1, 1, 1);
    x = conv_norm(b, "conv_b", x, wide, 3, stride, wide);
    x = sr_squeeze_excitation(b, "squeeze_excitation", x, &gate);
    x = conv(b, "conv_c", x, channels, 1);
    sr_builder_pop(b);
    sum[1] = depth(b, x, drop);
    x = sr_build_n(b, "add", "add", NULL, sum, 2);
    sr_builder_pop(b);
    return x;
}

// ---- attention

static void remarks(SrBuilder *b, const char *leaf, int n) {
    for (int i = 0; i < n; i++)
        sr_build_remark(b, leaf, NULL);
}

static void tensor(SrBuilder *b, const char *leaf, SrShape shape) {
    sr_build_remark(b, leaf, &shape);
}

// Splits a map (N, H, W, C) into h w groups of p_h p_w pixels each: (N, h w, p_h p_w, C).
typedef struct {
    int h, w, p_h, p_w;
    SrShape map;
} Cut;

static SrNodeId partition(SrBuilder *b, const Cut *c, SrNodeId x) {
    int C = c->map.d[3];
    sr_builder_push_block(b, "partition_op", "WindowPartition");
    remarks(b, "getattr", 1);
    remarks(b, "getitem", 4);
    remarks(b, "floordiv", 2);
    x = sr_build(b, "reshape", "reshape", &(SrReshapeParams){c->h, c->p_h, c->w, c->p_w, C}, x);
    x = sr_build(b, "permute", "permute", &(SrPermuteParams){2, 3, SR_CHANNELS_LAST}, x);
    remarks(b, "floordiv", 2);
    remarks(b, "mul", 1);
    x = sr_build(b, "reshape", "reshape",
                 &(SrReshapeParams){.d1 = c->h * c->w, .d2 = c->p_h * c->p_w, .d3 = C}, x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId departition(SrBuilder *b, const Cut *c, SrNodeId x) {
    int C = c->map.d[3];
    sr_builder_push_block(b, "departition_op", "WindowDepartition");
    remarks(b, "getattr", 1);
    remarks(b, "getitem", 4);
    x = sr_build(b, "reshape", "reshape", &(SrReshapeParams){c->h, c->w, c->p_h, c->p_w, C}, x);
    x = sr_build(b, "permute", "permute", &(SrPermuteParams){2, 3, SR_CHANNELS_FIRST}, x);
    x = sr_build(b, "reshape", "reshape",
                 &(SrReshapeParams){.d1 = c->map.d[1], .d2 = c->map.d[2], .d3 = C}, x);
    sr_builder_pop(b);
    return x;
}

// Exchanges groups and tokens for attention over a grid.
static SrNodeId swap(SrBuilder *b, const char *leaf, bool grid, SrNodeId x) {
    if (!grid)
        return sr_build(b, "identity", leaf, NULL, x);
    sr_builder_push_block(b, leaf, "SwapAxes");
    x = sr_build(b, "permute", "swapaxes", &(SrPermuteParams){.a = 1, .b = 2}, x);
    sr_builder_pop(b);
    return x;
}

// Adds remarks for torchvision's nodes around the attention scores, which do not exist here.
static void remark_qkv(SrBuilder *b, SrShape x, int E) {
    int N = x.d[0], G = x.d[1], P = x.d[2], D = x.d[3];
    remarks(b, "chunk", 1);
    for (int i = 0; i < 3; i++)
        tensor(b, "getitem", x);
    for (int i = 0; i < 3; i++) {
        tensor(b, "reshape", SR_SHAPE(N, G, P, E, D / E));
        tensor(b, "permute", SR_SHAPE(N, G, E, P, D / E));
    }
    tensor(b, "mul", SR_SHAPE(N, G, E, P, D / E));
    tensor(b, "einsum", SR_SHAPE(N, G, E, P, P));
}

static void remark_bias(SrBuilder *b, int P, int rows, int E) {
    sr_build_parameter_remark(b, "relative_position_bias_table", SR_SHAPE(rows, E));
    tensor(b, "getitem", SR_SHAPE(P * P, E));
    tensor(b, "view", SR_SHAPE(P, P, E));
    tensor(b, "permute", SR_SHAPE(E, P, P));
    tensor(b, "contiguous", SR_SHAPE(E, P, P));
}

static void remark_scores(SrBuilder *b, SrShape x, int E) {
    int N = x.d[0], G = x.d[1], P = x.d[2], D = x.d[3];
    tensor(b, "add", SR_SHAPE(N, G, E, P, P));
    tensor(b, "softmax", SR_SHAPE(N, G, E, P, P));
    tensor(b, "einsum", SR_SHAPE(N, G, E, P, D / E));
    tensor(b, "permute", SR_SHAPE(N, G, P, E, D / E));
}

// (N, G, P, D) -> (N, G, P, D)
static SrNodeId attention(SrBuilder *b, const Maxvit *p, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    int D = s.d[3], E = D / p->head_dim, side = p->partition;
    SrAttentionParams heads = {.num_heads = E, .scale = 1 / sqrt(D)};
    SrRelativeBiasParams bias = {.num_heads = E, .window_h = side, .window_w = side};
    sr_builder_push_block(b, "1", "RelativePositionalMultiHeadAttention");
    remarks(b, "getattr", 1);
    remarks(b, "getitem", 4);
    x = sr_token_linear(b, "to_qkv", x, 3 * D, true, 0.02);
    remark_qkv(b, s, E);
    remark_bias(b, side * side, (2 * side - 1) * (2 * side - 1), E);
    sr_builder_set_entry(b, "table", "relative_position_bias_table");
    SrNodeId in[2] = {x, sr_build_n(b, "relative_bias", "unsqueeze", &bias, NULL, 0)};
    remark_scores(b, s, E);
    x = sr_build_n(b, "attention", "reshape", &heads, in, 2);
    x = sr_token_linear(b, "merge", x, D, true, 0.02);
    sr_builder_pop(b);
    return x;
}

static SrNodeId mlp(SrBuilder *b, const Maxvit *p, SrNodeId x) {
    int D = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, "mlp_layer", "Sequential");
    x = sr_token_linear(b, "1", sr_token_norm(b, "0", x, 1e-5), 4 * D, true, 0.02);
    x = sr_token_linear(b, "3", sr_build(b, "gelu", "2", NULL, x), D, true, 0.02);
    x = sr_dropout(b, "4", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

static SrNodeId residual(SrBuilder *b, SrNodeId x, SrNodeId branch, double drop) {
    branch = sr_stochastic_depth(b, "stochastic_dropout", branch, drop);
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){x, branch}, 2);
}

static SrNodeId partition_attention(SrBuilder *b, const Maxvit *p, bool grid, SrNodeId x,
                                    double drop) {
    const char *scope = grid ? "grid_attention" : "window_attention";
    SrShape map = sr_build_shape(b, x);
    int side = p->partition, h = map.d[1] / side, w = map.d[2] / side;
    Cut cut = grid ? (Cut){side, side, h, w, map} : (Cut){h, w, side, side, map};
    sr_builder_push_block(b, scope, "PartitionAttentionLayer");
    x = swap(b, "partition_swap", grid, partition(b, &cut, x));
    sr_builder_push_block(b, "attn_layer", "Sequential");
    SrNodeId y = attention(b, p, sr_token_norm(b, "0", x, 1e-5));
    y = sr_dropout(b, "2", y, p->attention_dropout);
    sr_builder_pop(b);
    x = residual(b, x, y, drop);
    x = residual(b, x, mlp(b, p, x), drop);
    x = departition(b, &cut, swap(b, "departition_swap", grid, x));
    sr_builder_pop(b);
    return x;
}

static SrNodeId layer(SrBuilder *b, const Maxvit *p, SrNodeId x, int channels, int stride,
                      double drop) {
    sr_builder_push_block(b, "layers", "Sequential");
    x = mbconv(b, x, channels, stride, drop);
    x = partition_attention(b, p, false, x, drop);
    x = partition_attention(b, p, true, x, drop);
    sr_builder_pop(b);
    return x;
}

// ---- the trunk

static SrStatus check(SrBuilder *b, const Maxvit *p, SrNodeId image) {
    SrShape s = sr_build_shape(b, image);
    int whole = p->partition << (p->channels.n + 1);
    if (p->channels.n != p->layers.n || p->channels.n < 1 || p->channels.n > 8)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".BLOCK_CHANNELS has %d blocks and BLOCK_LAYERS %d: "
                                       "expected as many, 1 to 8",
                               p->channels.n, p->layers.n);
    for (int i = 0; i < p->channels.n; i++)
        if (p->channels.v[i] % p->head_dim || p->channels.v[i] < 4)
            return sr_builder_fail(b, SR_ERR_CONFIG,
                                   SUBTREE ".BLOCK_CHANNELS %d must be a multiple of HEAD_DIM %d",
                                   p->channels.v[i], p->head_dim);
    if (s.d[1] % whole || s.d[2] % whole)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "images of %d x %d: MaxViT takes multiples of %d pixels, whole "
                               "windows on every map (sslrun graph: --size %d)",
                               s.d[1], s.d[2], whole, whole);
    return SR_OK;
}

static SrNodeId stem(SrBuilder *b, const Maxvit *p, SrNodeId x) {
    sr_builder_push_block(b, "stem", "Sequential");
    x = conv_norm(b, "0", x, p->stem, 3, 2, 1);
    sr_builder_push_block(b, "1", "Conv2dNormActivation");
    x = conv(b, "0", x, p->stem, 3);
    sr_builder_pop(b);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Maxvit *p, int i, int first, SrNodeId x) {
    for (int k = 0; k < p->layers.v[i]; k++) {
        double drop = p->stochastic_depth * (first + k) / SR_MAX(sr_depth_total(p->layers) - 1, 1);
        sr_builder_push_numbered(b, "MaxVitLayer", "blocks.%d.layers.%d", i, k);
        x = layer(b, p, x, p->channels.v[i], k == 0 ? 2 : 1, drop);
        sr_builder_pop(b);
    }
    sr_build_alias_numbered(b, x, "%d", i);
    sr_build_alias_numbered(b, x, "res%d", i + 2);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Maxvit *p = params;
    SR_TRY(check(b, p, in->image));
    SrNodeId x = stem(b, p, in->image);
    for (int i = 0, first = 0; i < p->layers.n; first += p->layers.v[i++])
        x = block(b, p, i, first, x);
    out->map = x;
    sr_builder_push_block(b, "classifier", "Sequential");
    x = sr_build(b, "adaptive_avg_pool2d", "0", &(SrAdaptivePool2dParams){0}, x);
    sr_build_alias(b, "res5avg", x);
    out->pooled = sr_build(b, "flatten", "1", NULL, x);
    sr_builder_pop(b);
    sr_build_alias(b, "flatten", out->pooled);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    int D = sr_shape_last(sr_build_shape(b, features->pooled));
    sr_builder_push_block(b, "classifier", "Sequential");
    SrNodeId x =
        sr_token_linear(b, "3", sr_token_norm(b, "2", features->pooled, 1e-5), D, true, 0.02);
    *logits =
        sr_token_linear(b, "5", sr_build(b, "tanh", "4", NULL, x), preset->classes, false, 0.02);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {{"maxvit_t", "{}", "classifier.5", 1000}};

static const SrTrunkExample examples[] = {
    {"{STEM_CHANNELS: 8, BLOCK_CHANNELS: [8, 16], BLOCK_LAYERS: [1, 2], HEAD_DIM: 4, "
     "PARTITION_SIZE: 2}",
     16, 32}};

const SrTrunk sr_trunk_torchvision_maxvit = {
    .name = "torchvision_maxvit",
    .help = "torchvision's MaxViT",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Maxvit),
    .build = build,
    .decays_by_name = true,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
