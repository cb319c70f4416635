// BEiT's vision transformer (Bao et al., arXiv:2106.08254) with VISSL's keys and names
// (vissl/models/trunks/beit.py).  It has layer scale, biases for queries and values only, and
// position biases by offset in every block or shared by all.
//
// In VISSL, USE_MEAN_POOLING pools nothing: it removes the last norm, and the output stays the
// class token.  This trunk does so too, because weights trained there expect it.
#include <math.h>

#include "graph/ir/token_blocks.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/qv_bias.h"
#include "kernels/attention/relative_bias.h"
#include "kernels/tokens/add_positions.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.BEIT"

enum { MAX_LAYERS = 256 };

typedef struct {
    int image_size, patch_size, layers, heads, hidden_dim;
    double mlp_ratio, dropout, attention_dropout, drop_path;
    bool qkv_bias, absolute, relative, shared, mean_pooling;
    const SrYaml *qk_scale, *init_values;
} Beit;

#define FIELD(f) offsetof(Beit, f)
// clang-format off
static const SrOption options[] = {
    {"IMAGE_SIZE", SR_OPT_INT, FIELD(image_size), "224", 1, 65535, .help = "Side of images in pixels."},
    {"PATCH_SIZE", SR_OPT_INT, FIELD(patch_size), "16", 1, 1024, .help = "Side of a patch in pixels."},
    {"NUM_LAYERS", SR_OPT_INT, FIELD(layers), "12", 1, MAX_LAYERS, .help = "Blocks."},
    {"NUM_HEADS", SR_OPT_INT, FIELD(heads), "12", 1, 1024, .help = "Number of attention heads."},
    {"HIDDEN_DIM", SR_OPT_INT, FIELD(hidden_dim), "768", 1, 65536, .help = "Width of a token."},
    {"MLP_RATIO", SR_OPT_FLOAT, FIELD(mlp_ratio), "4", 0.01, 64,
     .help = "Hidden width of a block's MLP, as a multiple of HIDDEN_DIM."},
    {"QKV_BIAS", SR_OPT_BOOL, FIELD(qkv_bias), "False", .help = "Queries and values have biases."},
    {"QK_SCALE", SR_OPT_TREE, FIELD(qk_scale), "False",
     .help = "Factor that scales attention scores before the softmax; False: 1 / sqrt(width of a head)."},
    {"DROPOUT_RATE", SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99,
     .help = "Dropout of tokens, of the attention's output and in the MLP."},
    {"ATTENTION_DROPOUT_RATE", SR_OPT_FLOAT, FIELD(attention_dropout), "0", 0, 0.99,
     .help = "Dropout of attention probabilities."},
    {"DROP_PATH_RATE", SR_OPT_FLOAT, FIELD(drop_path), "0", 0, 0.99,
     .help = "Probability of leaving out a branch of the last block; earlier blocks have proportionally less."},
    {"USE_ABS_POS_EMB", SR_OPT_BOOL, FIELD(absolute), "True", .help = "Add learned position embeddings."},
    {"USE_REL_POS_BIAS", SR_OPT_BOOL, FIELD(relative), "False",
     .help = "Add relative position biases in every block."},
    {"USE_SHARED_REL_POS_BIAS", SR_OPT_BOOL, FIELD(shared), "False",
     .help = "Share one table of relative position biases between all blocks."},
    {"USE_MEAN_POOLING", SR_OPT_BOOL, FIELD(mean_pooling), "True",
     .help = "True: no last norm, as in VISSL.  The output is the class token in both cases."},
    {"INIT_VALUES", SR_OPT_TREE, FIELD(init_values), "False",
     .help = "Initial value of the learned factors of branches (LayerScale); False or 0: no factors."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

// Adds layer scale; an initial value of 0 means none.
static double init_of(const Beit *p) { return SR_MAX(sr_token_scale(p->init_values), 0); }

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-6);
}

static SrNodeId relative_bias(SrBuilder *b, const Beit *p) {
    int side = p->image_size / p->patch_size;
    SrRelativeBiasParams bias = {
        .num_heads = p->heads, .window_h = side, .window_w = side, .class_token = true};
    sr_builder_set_entry(b, "table", "relative_position_bias_table");
    sr_builder_set_init(b, "table", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build_n(b, "relative_bias", "relative_position_bias", &bias, NULL, 0);
}

// Returns the position bias: the sum of both kinds if both are configured.
static SrNodeId bias_of(SrBuilder *b, const Beit *p, SrNodeId shared) {
    SrNodeId own = p->relative ? relative_bias(b, p) : SR_NO_NODE;
    if (own == SR_NO_NODE || shared == SR_NO_NODE)
        return own == SR_NO_NODE ? shared : own;
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){own, shared}, 2);
}

// Later blocks start with smaller branches: initial weights are divided by sqrt(2 (i + 1)).
static double last_deviation(int i) { return 0.02 / sqrt(2.0 * (i + 1)); }

static SrNodeId attention(SrBuilder *b, const Beit *p, int i, SrNodeId shared, SrNodeId x) {
    SrAttentionParams heads = {.num_heads = p->heads,
                               .scale = sr_token_scale(p->qk_scale),
                               .dropout = p->attention_dropout};
    sr_builder_push_block(b, "attn", "Attention");
    SrNodeId in[2] = {SR_NO_NODE, bias_of(b, p, shared)};
    x = sr_token_linear(b, "qkv", x, 3 * p->hidden_dim, false, 0.02);
    if (p->qkv_bias) {
        sr_builder_set_entry(b, "q_bias", "q_bias");
        sr_builder_set_entry(b, "v_bias", "v_bias");
        x = sr_build(b, "qv_bias", "qv_bias", &(SrQvBiasParams){.separate = true}, x);
    }
    in[0] = x;
    x = sr_build_n(b, "attention", "attention", &heads, in, in[1] == SR_NO_NODE ? 1 : 2);
    x = sr_token_linear(b, "proj", x, p->hidden_dim, true, last_deviation(i));
    x = sr_token_dropout(b, "proj_drop", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Beit *p, int i, SrNodeId shared, SrNodeId x) {
    double drop = p->layers > 1 ? p->drop_path * i / (p->layers - 1) : 0, init = init_of(p);
    SrTokenMlp mlp = {.width = (int)(p->hidden_dim * p->mlp_ratio),
                      .dropout = p->dropout,
                      .last_deviation = last_deviation(i)};
    sr_builder_push_numbered(b, "Block", "blocks.%d", i);
    SrNodeId branch = attention(b, p, i, shared, norm(b, "norm1", x));
    x = sr_token_residual(b, x, branch, drop, init > 0 ? "gamma_1" : NULL, init);
    branch = sr_token_mlp(b, norm(b, "norm2", x), &mlp);
    x = sr_token_residual(b, x, branch, drop, init > 0 ? "gamma_2" : NULL, init);
    sr_builder_pop(b);
    return x;
}

static SrNodeId tokens(SrBuilder *b, const Beit *p, SrNodeId image) {
    int side = p->image_size / p->patch_size;
    SrAddPositionsParams add = {
        .prefix = 1, .from_h = side, .from_w = side, .to_h = side, .to_w = side};
    sr_builder_push_block(b, "patch_embed", "PatchEmbed");
    SrNodeId x = sr_token_patches(b, image, p->patch_size, p->hidden_dim);
    x = sr_token_flatten(b, "flatten", x);
    sr_builder_pop(b);
    sr_builder_set_entry(b, "token", "cls_token");
    x = sr_build(b, "prepend_token", "cat", NULL, x);
    if (p->absolute) {
        sr_builder_set_entry(b, "positions", "pos_embed");
        x = sr_build(b, "add_positions", "add", &add, x);
    }
    return sr_token_dropout(b, "pos_drop", x, p->dropout);
}

static SrStatus check(SrBuilder *b, const Beit *p, SrNodeId image) {
    SrShape s = sr_build_shape(b, image);
    if (s.d[1] != p->image_size || s.d[2] != p->image_size)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "images of %d x %d, but " SUBTREE ".IMAGE_SIZE is %d: this trunk "
                               "takes one size",
                               s.d[1], s.d[2], p->image_size);
    if (p->hidden_dim % p->heads)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".HIDDEN_DIM %d must be a multiple of NUM_HEADS %d",
                               p->hidden_dim, p->heads);
    if (sr_token_scale(p->qk_scale) < 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".QK_SCALE must be False or a number above 0");
    return SR_OK;
}

static SrNodeId shared_bias(SrBuilder *b, const Beit *p) {
    if (!p->shared)
        return SR_NO_NODE;
    sr_builder_push_block(b, "rel_pos_bias", "RelativePositionBias");
    SrNodeId x = relative_bias(b, p);
    sr_builder_pop(b);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Beit *p = params;
    SrNodeId raw[MAX_LAYERS], normed[MAX_LAYERS];
    int side = p->image_size / p->patch_size;
    SR_TRY(check(b, p, in->image));
    SrNodeId x = tokens(b, p, in->image), shared = shared_bias(b, p);
    for (int i = 0; i < p->layers; i++)
        raw[i] = x = block(b, p, i, shared, x);
    for (int i = p->layers - 1; i >= 0; i--)
        normed[i] = p->mean_pooling ? sr_build(b, "identity", "norm", NULL, raw[i])
                                    : norm(b, "norm", raw[i]);
    sr_token_features(b,
                      &(SrTokenFeatures){.blocks = p->layers,
                                         .raw = raw,
                                         .normed = normed,
                                         .class_token = true,
                                         .n_prefix = 1,
                                         .h = side,
                                         .w = side},
                      out);
    return sr_builder_status(b);
}

static int layers(const void *params) { return ((const Beit *)params)->layers; }

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_RATIO: 2, "
     "QKV_BIAS: True, USE_REL_POS_BIAS: True, INIT_VALUES: 0.1, DROP_PATH_RATE: 0.1}",
     32, 0},
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_RATIO: 2, "
     "USE_ABS_POS_EMB: False, USE_SHARED_REL_POS_BIAS: True, USE_MEAN_POOLING: False}",
     32, 0}};

const SrTrunk sr_trunk_beit = {
    .name = "beit",
    .help = "BEiT's vision transformer",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Beit),
    .build = build,
    .layers = layers,
    .depth = sr_depth_of_blocks,
    .decays_by_name = true,
    .examples = SR_LIST(examples),
};
