// BEiT's vision transformer (Bao et al., arXiv:2106.08254) with VISSL's keys and names
// (vissl/models/trunks/beit.py).  It has layer scale, biases for queries and values only, and
// position biases by offset in every block or shared by all.
//
// In VISSL, USE_MEAN_POOLING pools nothing: it removes the last norm, and the output stays the
// class token.  This trunk does so too, because weights trained there expect it.
#include <math.h>

#include "graph/ir/token_blocks.h"
#include "kernels/attention/qv_bias.h"
#include "kernels/attention/relative_bias.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.BEIT"

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
    SR_ROW_PATCH_SIZE("16"),
    SR_ROWS_LAYERS("12", "12", "768"),
    SR_ROW_MLP_RATIO,
    {"QKV_BIAS", SR_OPT_BOOL, FIELD(qkv_bias), "False", .help = "Queries and values have biases."},
    SR_ROW_QK_SCALE,
    SR_ROW_TOKEN_DROPOUT("DROPOUT_RATE"),
    SR_ROW_ATTENTION_DROPOUT("ATTENTION_DROPOUT_RATE"),
    SR_ROW_DROP_PATH("DROP_PATH_RATE", "0"),
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
    sr_builder_push_block(b, "attn", "Attention");
    SrNodeId bias = bias_of(b, p, shared);
    x = sr_token_linear(b, "qkv", x, 3 * p->hidden_dim, false, 0.02);
    if (p->qkv_bias) {
        sr_builder_set_entry(b, "q_bias", "q_bias");
        sr_builder_set_entry(b, "v_bias", "v_bias");
        x = sr_build(b, "qv_bias", "qv_bias", &(SrQvBiasParams){.separate = true}, x);
    }
    x = sr_token_attention(b, x,
                           &(SrTokenAttention){.num_heads = p->heads,
                                               .scale = sr_token_scale(p->qk_scale),
                                               .dropout = p->attention_dropout,
                                               .proj_dropout = p->dropout,
                                               .proj_deviation = last_deviation(i),
                                               .bias = bias == SR_NO_NODE ? NULL : &bias});
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

static SrNodeId tokens(SrBuilder *b, const Beit *p, SrNodeId image, SrTokenLayout *grid) {
    SrNodeId x = sr_patch_tokens(b, image, p->patch_size, p->hidden_dim, true, grid);
    x = sr_prepend_token(b, "cls_token", x);
    if (p->absolute)
        x = sr_token_positions(b, "pos_embed", x, 1, p->image_size / p->patch_size, grid);
    return sr_token_dropout(b, "pos_drop", x, p->dropout);
}

static SrStatus check(SrBuilder *b, const Beit *p, SrNodeId image) {
    SrShape s = sr_build_shape(b, image);
    if (s.d[1] != p->image_size || s.d[2] != p->image_size)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "images of %d x %d, but " SUBTREE ".IMAGE_SIZE is %d: this trunk "
                               "takes one size",
                               s.d[1], s.d[2], p->image_size);
    SR_TRY(sr_token_sizes_check(b, SUBTREE, p->hidden_dim, p->heads, p->image_size, p->patch_size));
    return sr_token_scale_check(b, SUBTREE, p->qk_scale);
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
    SrNodeId raw[SR_TOKEN_MAX_BLOCKS], unnormed[SR_TOKEN_MAX_BLOCKS];
    SrTokenFeatures features = {.blocks = p->layers,
                                .raw = raw,
                                .normed = p->mean_pooling ? unnormed : NULL,
                                .eps = 1e-6,
                                .class_token = true,
                                .n_prefix = 1};
    SR_TRY(check(b, p, in->image));
    SrNodeId x = tokens(b, p, in->image, &features.grid), shared = shared_bias(b, p);
    for (int i = 0; i < p->layers; i++)
        raw[i] = x = block(b, p, i, shared, x);
    for (int i = p->layers - 1; p->mean_pooling && i >= 0; i--)
        unnormed[i] = sr_build(b, "identity", "norm", NULL, raw[i]);
    sr_token_features(b, &features, out);
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
