// ConViT (d'Ascoli et al., arXiv:2103.10697) with VISSL's keys and names
// (vissl/models/trunks/convit.py): blocks of gated positional self-attention over the patches, then
// blocks of plain attention with a class token.
//
// VISSL's behaviour is kept.  Positions are added before the class token joins.  If all blocks
// are gated, it never joins, and CLASSIFIER token gives the first patch.  CLASSIFIER gap is the
// mean over all tokens with the class token.  One thing differs: VISSL overwrites its local
// initialisation of v and pos_proj, and LOCAL_INIT keeps it here.
#include "graph/ir/token_blocks.h"
#include "kernels/tokens/select_tokens.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"
#include "trunks/vit/gpsa.h"

#define SUBTREE "MODEL.TRUNK.CONVIT"

enum { TOKEN, GAP };

typedef struct {
    int image_size, patch_size, layers, heads, hidden_dim, mlp_dim, classifier, gpsa_layers;
    int locality_dim;
    double dropout, attention_dropout, drop_path, locality_strength;
    bool qkv_bias, local_init;
    const SrYaml *qk_scale;
} Convit;

#define FIELD(f) offsetof(Convit, f)
// clang-format off
static const SrOption options[] = {
    {"N_GPSA_LAYERS", SR_OPT_INT, FIELD(gpsa_layers), "10", 0, 256,
     .help = "Number of first blocks with gated positional self-attention; at most NUM_LAYERS."},
    {"CLASS_TOKEN_IN_LOCAL_LAYERS", SR_OPT_IGNORED, 0, "False", .choices = SR_REFUSED,
     .help = "gated blocks use positions, and a class token has none; VISSL refuses it too"},
    {"LOCALITY_STRENGTH", SR_OPT_FLOAT, FIELD(locality_strength), "1.0", 0, 1000,
     .help = "With LOCAL_INIT: how narrowly a head attends to its offset; 0: 1 in the first block, 1/2 in the second, ..."},
    {"LOCALITY_DIM", SR_OPT_INT, FIELD(locality_dim), "10", 1, 1024,
     .help = "Columns of the position weights for each of the three distances."},
    {"USE_LOCAL_INIT", SR_OPT_IGNORED, 0, "True",
     .help = "VISSL overwrites the weights that it sets by random ones; LOCAL_INIT keeps them"},
    {"LOCAL_INIT", SR_OPT_BOOL, FIELD(local_init), "False",
     .help = "Gated blocks start as convolutions, as in the paper (not in VISSL)."},
    SR_ROW_IMAGE_SIZE("224"),
    SR_ROW_PATCH_SIZE("16"),
    SR_ROWS_LAYERS("12", "12", "768"),
    SR_ROW_MLP_DIM("3072"),
    SR_ROW_TOKEN_DROPOUT("DROPOUT_RATE"),
    {"ATTENTION_DROPOUT_RATE", SR_OPT_FLOAT, FIELD(attention_dropout), "0", 0, 0.99,
     .help = "Dropout of attention probabilities of plain blocks; gated ones have none."},
    {"CLASSIFIER", SR_OPT_ENUM, FIELD(classifier), "token", .choices = "token|gap",
     .help = "Feature of the image.  token: the class token; gap: the mean of all tokens."},
    SR_ROW_DROP_PATH("DROP_PATH_RATE", "0"),
    SR_ROW_QKV_BIAS("False"),
    SR_ROW_QK_SCALE,
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-5);
}

static SrNodeId gated(SrBuilder *b, const Convit *p, int i, const SrTokenLayout *grid, SrNodeId x) {
    double strength = p->locality_strength > 0 ? p->locality_strength : 1.0 / (i + 1);
    SrGpsa gpsa = {.heads = p->heads,
                   .height = grid->h,
                   .width = grid->w,
                   .qkv_bias = p->qkv_bias,
                   .scale = sr_token_scale(p->qk_scale),
                   .locality_dim = p->locality_dim,
                   .locality_strength = strength,
                   .local_init = p->local_init,
                   .dropout = p->dropout};
    sr_builder_push_block(b, "attn", "GPSA");
    x = sr_gpsa(b, &gpsa, x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId plain(SrBuilder *b, const Convit *p, bool last, SrNodeId x) {
    SrTokenAttention attention = {.num_heads = p->heads,
                                  .scale = sr_token_scale(p->qk_scale),
                                  .dropout = p->attention_dropout,
                                  .proj_dropout = p->dropout,
                                  .last = last};
    sr_builder_push_block(b, "attn", "SelfAttention");
    x = sr_token_linear(b, "qkv", x, 3 * p->hidden_dim, p->qkv_bias, 0.02);
    x = sr_token_attention(b, x, &attention);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Convit *p, int i, const SrTokenLayout *grid, SrNodeId x) {
    double drop = p->layers > 1 ? p->drop_path * i / (p->layers - 1) : 0;
    SrTokenMlp mlp = {
        .width = p->mlp_dim, .dropout = p->dropout, .first = "linear_1", .second = "linear_2"};
    sr_builder_push_numbered(b, "AttentionBlock", "blocks.%d", i);
    SrNodeId branch = norm(b, "norm1", x);
    branch =
        i < p->gpsa_layers ? gated(b, p, i, grid, branch) : plain(b, p, i + 1 == p->layers, branch);
    x = sr_token_residual(b, x, branch, drop, NULL, 0);
    x = sr_token_residual(b, x, sr_token_mlp(b, norm(b, "norm2", x), &mlp), drop, NULL, 0);
    sr_builder_pop(b);
    return x;
}

static SrNodeId tokens(SrBuilder *b, const Convit *p, SrNodeId image, SrTokenLayout *grid) {
    SrNodeId x = sr_patch_tokens(b, image, p->patch_size, p->hidden_dim, true, grid);
    x = sr_token_positions(b, "pos_embedding", x, 0, p->image_size / p->patch_size, grid);
    return sr_token_dropout(b, "pos_drop", x, p->dropout);
}

static SrStatus check(SrBuilder *b, const Convit *p) {
    SR_TRY(sr_token_sizes_check(b, SUBTREE, p->hidden_dim, p->heads, p->image_size, p->patch_size));
    if (p->image_size % p->patch_size)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ": IMAGE_SIZE %d must be a multiple of PATCH_SIZE %d",
                               p->image_size, p->patch_size);
    return sr_token_scale_check(b, SUBTREE, p->qk_scale);
}

// Sets the outputs: the patches (N, L, D) as a map, and VISSL's feature, one vector per image.
static void features(SrBuilder *b, const Convit *p, SrNodeId x, const SrTokenLayout *grid,
                     SrTrunkOutput *out) {
    SrSelectTokensParams patches = {.begin = out->n_prefix, .count = grid->h * grid->w};
    out->tokens = x;
    out->pooled = p->classifier == GAP ? sr_token_mean(b, x) : sr_first_token(b, x);
    sr_build_alias(b, "lastBLK", x);
    sr_build_alias(b, p->classifier == GAP ? "lastPOOL" : "lastCLS", out->pooled);
    x = sr_build(b, "select_tokens", "patches", &patches, x);
    out->map = sr_token_map(b, x, 0, grid);
    sr_build_alias(b, "lastMAP", out->map);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Convit *p = params;
    SrTokenLayout grid;
    SR_TRY(check(b, p));
    SrNodeId x = tokens(b, p, in->image, &grid);
    for (int i = 0; i < p->layers; i++) {
        if (i == p->gpsa_layers) {
            x = sr_prepend_token(b, "class_token", x);
            out->n_prefix = 1;
        }
        x = block(b, p, i, &grid, x);
    }
    if (!out->n_prefix)
        sr_prepend_token(b, "class_token",
                         x); // VISSL has this parameter too, though nothing reads it
    features(b, p, norm(b, "norm", x), &grid, out);
    return sr_builder_status(b);
}

static int layers(const void *params) { return ((const Convit *)params)->layers; }

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 3, NUM_HEADS: 4, HIDDEN_DIM: 16, MLP_DIM: 32, "
     "N_GPSA_LAYERS: 2, LOCALITY_DIM: 2, LOCAL_INIT: True, DROPOUT_RATE: 0.1}",
     32, 24},
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 16, NUM_LAYERS: 1, NUM_HEADS: 2, HIDDEN_DIM: 8, MLP_DIM: 16, "
     "CLASSIFIER: gap}",
     32, 0}};

const SrTrunk sr_trunk_convit = {
    .name = "convit",
    .help = "ConViT: attention that may start as a convolution",
    .subtree = SUBTREE,
    .base = "MODEL.TRUNK.VISION_TRANSFORMERS",
    .options = options,
    .params_bytes = sizeof(Convit),
    .build = build,
    .layers = layers,
    .depth = sr_depth_of_blocks,
    .decays_by_name = true,
    .examples = SR_LIST(examples),
};
