// XCiT (El-Nouby et al., "XCiT: cross-covariance image transformers", arXiv:2106.09681) with
// VISSL's keys and names (vissl/models/trunks/xcit.py): attention between channels, a convolution
// over neighbouring patches, and two blocks of class attention (Touvron et al., "CaiT",
// arXiv:2103.17239) at the end.
//
// VISSL's behaviour is kept.  Every block drops its branches with the same probability; class
// attention never drops them.  With TOKENS_NORM, a block of class attention adds its MLP to all
// tokens after the second norm, so that patch tokens double.
#include <math.h>

#include "graph/ir/token_blocks.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cross_covariance.h"
#include "kernels/basic/concat.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/reshape.h"
#include "kernels/conv/conv2d.h"
#include "kernels/tokens/fourier_positions.h"
#include "kernels/tokens/select_tokens.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.XCIT"

enum { CLASS_BLOCKS = 2 };

typedef struct {
    int patch_size, hidden_dim, layers, heads;
    double mlp_ratio, dropout, attention_dropout, drop_path, eta;
    bool tokens_norm, qkv_bias;
    const SrYaml *qk_scale;
} Xcit;

#define FIELD(f) offsetof(Xcit, f)
// clang-format off
static const SrOption options[] = {
    {"name", SR_OPT_IGNORED, 0, "\"\"", .help = "it is a label for readers only"},
    {"IMAGE_SIZE", SR_OPT_IGNORED, 0, "224", .help = "position embeddings are computed for images of any size"},
    {"PATCH_SIZE", SR_OPT_INT, FIELD(patch_size), "16", 8, 16, .help = "Side of a patch in pixels: 8 or 16."},
    {"HIDDEN_DIM", SR_OPT_INT, FIELD(hidden_dim), "384", 8, 65536, .help = "Width of a token."},
    {"NUM_LAYERS", SR_OPT_INT, FIELD(layers), "12", 1, 256,
     .help = "Number of blocks before the two blocks of class attention."},
    {"NUM_HEADS", SR_OPT_INT, FIELD(heads), "8", 1, 1024, .help = "Number of attention heads."},
    SR_ROW_MLP_RATIO,
    SR_ROW_TOKEN_DROPOUT("DROPOUT_RATE"),
    {"ATTENTION_DROPOUT_RATE", SR_OPT_FLOAT, FIELD(attention_dropout), "0", 0, 0.99,
     .help = "Dropout of attention probabilities; only 0 is implemented."},
    {"DROP_PATH_RATE", SR_OPT_FLOAT, FIELD(drop_path), "0.05", 0, 0.99,
     .help = "Probability of leaving out a branch, the same for all blocks."},
    {"ETA", SR_OPT_FLOAT, FIELD(eta), "1", 0, 1e6,
     .help = "Initial value of the learned factors of branches (LayerScale)."},
    {"TOKENS_NORM", SR_OPT_BOOL, FIELD(tokens_norm), "True",
     .help = "Class attention normalises all tokens, and not only the class token."},
    SR_ROW_QKV_BIAS("True"),
    {"QK_SCALE", SR_OPT_TREE, FIELD(qk_scale), "False",
     .help = "Factor that scales the scores of class attention; False: 1 / sqrt(width of a head)."},
    SR_ROW_CHECKPOINT("CHECKPOINT_XCA_BLOCK"),
    SR_ROW_CHECKPOINT("CHECKPOINT_ATTN_BLOCK"),
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-6);
}

// Adds a 3x3 convolution with stride 2 and no bias, and a batch norm: nodes <i>.0 and <i>.1.
static SrNodeId halve(SrBuilder *b, int i, SrNodeId x, int channels) {
    sr_builder_push_numbered(b, "Sequential", "%d", i);
    x = sr_conv(b, "0", x, channels, 3, 2, 1);
    x = sr_build(b, "batch_norm", "1", NULL, x);
    sr_builder_pop(b);
    return x;
}

// (N, H, W, 3) -> (N, h, w, D) with position encodings added
static SrNodeId embed(SrBuilder *b, const Xcit *p, SrNodeId x) {
    int steps = p->patch_size == 16 ? 4 : 3;
    sr_builder_push_block(b, "patch_embed", "ConvPatchEmbed");
    sr_builder_push_block(b, "proj", "Sequential");
    for (int i = 0; i < steps; i++) {
        x = halve(b, 2 * i, x, p->hidden_dim >> (steps - 1 - i));
        if (i + 1 < steps)
            x = sr_build(b, "gelu", sr_leaf(2 * i + 1).s, NULL, x);
    }
    sr_builder_pop(b);
    sr_builder_pop(b);
    SrShape s = sr_build_shape(b, x);
    sr_builder_push_block(b, "pos_embeder", "PositionalEncodingFourier");
    SrNodeId positions =
        sr_build_n(b, "fourier_positions", "positions",
                   &(SrFourierPositionsParams){
                       .images = s.d[0], .height = s.d[1], .width = s.d[2], .features = 32},
                   NULL, 0);
    positions = sr_conv_bias(b, "token_projection", positions, p->hidden_dim, 1, 1, 0);
    sr_builder_pop(b);
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){x, positions}, 2);
}

static SrNodeId proj(SrBuilder *b, const Xcit *p, SrNodeId x) {
    x = sr_token_linear(b, "proj", x, p->hidden_dim, true, 0.02);
    return sr_token_dropout(b, "proj_drop", x, p->dropout);
}

static SrNodeId channel_attention(SrBuilder *b, const Xcit *p, SrNodeId x) {
    sr_builder_push_block(b, "attn", "XCA");
    x = sr_token_linear(b, "qkv", x, 3 * p->hidden_dim, p->qkv_bias, 0.02);
    sr_builder_set_entry(b, "temperature", "temperature");
    x = sr_build(b, "cross_covariance", "attention", &(SrCrossCovarianceParams){p->heads}, x);
    x = proj(b, p, x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId depthwise(SrBuilder *b, const char *leaf, SrNodeId x) {
    int C = sr_shape_last(sr_build_shape(b, x));
    SrConv2dParams conv = {.out_channels = C,
                           .kernel_h = 3,
                           .padding_h = 1,
                           .padding_w = -1,
                           .groups = C,
                           .bias = true};
    return sr_build(b, "conv2d", leaf, &conv, x);
}

// Adds depthwise convolutions over the map of patches (section 3.3).
static SrNodeId local_patches(SrBuilder *b, SrNodeId x, SrShape map) {
    sr_builder_push_block(b, "local_mp", "LPI");
    x = sr_build(b, "reshape", "reshape",
                 &(SrReshapeParams){.d1 = map.d[1], .d2 = map.d[2], .d3 = map.d[3]}, x);
    x = sr_build(b, "permute", "permute", &(SrPermuteParams){.channels = SR_CHANNELS_FIRST}, x);
    x = sr_build(b, "gelu", "act", NULL, depthwise(b, "conv1", x));
    x = depthwise(b, "conv2", sr_build(b, "batch_norm", "bn", NULL, x));
    x = sr_token_flatten(b, "flatten", x);
    sr_builder_pop(b);
    return x;
}

static SrTokenMlp mlp_of(const Xcit *p) {
    return (SrTokenMlp){.width = (int)(p->hidden_dim * p->mlp_ratio), .dropout = p->dropout};
}

static SrNodeId block(SrBuilder *b, const Xcit *p, int i, SrNodeId x, SrShape map) {
    SrTokenMlp mlp = mlp_of(p);
    sr_builder_push_numbered(b, "XCABlock", "blocks.%d", i);
    SrNodeId branch = channel_attention(b, p, norm(b, "norm1", x));
    x = sr_token_residual(b, x, branch, p->drop_path, "gamma1", p->eta);
    branch = local_patches(b, norm(b, "norm3", x), map);
    x = sr_token_residual(b, x, branch, p->drop_path, "gamma3", p->eta);
    branch = sr_token_mlp(b, norm(b, "norm2", x), &mlp);
    x = sr_token_residual(b, x, branch, p->drop_path, "gamma2", p->eta);
    sr_builder_pop(b);
    return x;
}

static SrNodeId select(SrBuilder *b, SrNodeId x, int begin, int count) {
    return sr_build(b, "select_tokens", "getitem",
                    &(SrSelectTokensParams){.begin = begin, .count = count}, x);
}

static SrNodeId join(SrBuilder *b, SrNodeId first, SrNodeId rest) {
    return sr_build_n(b, "concat", "cat", &(SrConcatParams){.dim = 1}, (SrNodeId[]){first, rest},
                      2);
}

// Adds class attention: the class token attends to all tokens, and the others stay: (N, L, D).
static SrNodeId class_attention(SrBuilder *b, const Xcit *p, SrNodeId x) {
    int L = sr_build_shape(b, x).d[1];
    SrAttentionParams attention = {
        .num_heads = p->heads, .scale = sr_token_scale(p->qk_scale), .queries = 1};
    sr_builder_push_block(b, "attn", "ClassAttention");
    SrNodeId y = sr_token_linear(b, "qkv", x, 3 * p->hidden_dim, p->qkv_bias, 0.02);
    y = proj(b, p, sr_build(b, "attention", "attention", &attention, y));
    y = join(b, y, select(b, x, 1, L - 1));
    sr_builder_pop(b);
    return y;
}

static SrNodeId class_block(SrBuilder *b, const Xcit *p, int i, SrNodeId x) {
    int L = sr_build_shape(b, x).d[1];
    SrTokenMlp mlp = mlp_of(p);
    sr_builder_push_numbered(b, "ClassAttentionBlock", "cls_attn_blocks.%d", i);
    SrNodeId branch = class_attention(b, p, norm(b, "norm1", x));
    x = sr_token_residual(b, x, branch, 0, "gamma1", p->eta);
    SrNodeId token;
    if (p->tokens_norm) {
        x = norm(b, "norm2", x);
        token = select(b, x, 0, 1);
    } else {
        token = norm(b, "norm2", select(b, x, 0, 1));
        x = join(b, token, select(b, x, 1, L - 1));
    }
    token = sr_token_scaled(b, sr_token_mlp(b, token, &mlp), "gamma2", p->eta);
    token = join(b, token, select(b, x, 1, L - 1));
    x = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){x, token}, 2);
    sr_builder_pop(b);
    return x;
}

static SrStatus check(SrBuilder *b, const Xcit *p) {
    if (p->patch_size != 8 && p->patch_size != 16)
        return sr_builder_fail(b, SR_ERR_CONFIG, SUBTREE ".PATCH_SIZE is %d: expected 8 or 16",
                               p->patch_size);
    if (p->hidden_dim % p->heads || p->hidden_dim % 8)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".HIDDEN_DIM %d must be a multiple of 8 and of NUM_HEADS %d",
                               p->hidden_dim, p->heads);
    if (p->attention_dropout > 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".ATTENTION_DROPOUT_RATE is %g, but only 0 is implemented",
                               p->attention_dropout);
    return sr_token_scale_check(b, SUBTREE, p->qk_scale);
}

// Announces lastCLS, and lastMAP of the patches after the last norm.
static void features(SrBuilder *b, SrNodeId x, SrShape map, SrTrunkOutput *out) {
    int L = sr_build_shape(b, x).d[1];
    out->tokens = x;
    out->n_prefix = 1;
    out->pooled = sr_first_token(b, x);
    sr_build_alias(b, "lastCLS", out->pooled);
    x = sr_build(b, "reshape", "unflatten",
                 &(SrReshapeParams){.d1 = map.d[1], .d2 = map.d[2], .d3 = map.d[3]},
                 select(b, x, 1, L - 1));
    out->map = sr_build(b, "permute", "map", &(SrPermuteParams){.channels = SR_CHANNELS_FIRST}, x);
    sr_build_alias(b, "lastMAP", out->map);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Xcit *p = params;
    SR_TRY(check(b, p));
    SrNodeId x = embed(b, p, in->image);
    SrShape map = sr_build_shape(b, x);
    x = sr_token_dropout(b, "pos_drop", sr_token_flatten(b, "tokens", x), p->dropout);
    for (int i = 0; i < p->layers; i++)
        x = block(b, p, i, x, map);
    x = sr_prepend_token(b, "cls_token", x);
    for (int i = 0; i < CLASS_BLOCKS; i++)
        x = class_block(b, p, i, x);
    features(b, norm(b, "norm", x), map, out);
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {
    {"{PATCH_SIZE: 8, HIDDEN_DIM: 16, NUM_LAYERS: 1, NUM_HEADS: 2, MLP_RATIO: 2, "
     "DROPOUT_RATE: 0.1}",
     32, 24},
    {"{PATCH_SIZE: 16, HIDDEN_DIM: 16, NUM_LAYERS: 1, NUM_HEADS: 2, MLP_RATIO: 2, "
     "TOKENS_NORM: False}",
     48, 32}};

const SrTrunk sr_trunk_xcit = {
    .name = "xcit",
    .help = "XCiT: attention between channels",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Xcit),
    .build = build,
    .decays_by_name = true,
    .examples = SR_LIST(examples),
};
