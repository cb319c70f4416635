// The vision transformer (Dosovitskiy et al., arXiv:2010.11929; DeiT, arXiv:2012.12877) with
// VISSL's keys, names and features (vissl/models/trunks/vision_transformer.py).
// trunks/vit/torchvision_vit.c has torchvision's names.
#include <string.h>

#include "graph/ir/token_blocks.h"
#include "kernels/attention/attention.h"
#include "kernels/tokens/add_positions.h"
#include "kernels/tokens/drop_tokens.h"
#include "kernels/tokens/gather_tokens.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.VISION_TRANSFORMERS"

enum { MASKING_NONE, MASKING_IBOT, MASKING_MSN };
enum { POSITIONS_LEARNED, POSITIONS_SINCOS };
enum { MAX_LAYERS = 256 };

typedef struct {
    int image_size, patch_size, layers, heads, hidden_dim, mlp_dim;
    double dropout, attention_dropout, drop_path;
    bool qkv_bias, class_token;
    const SrYaml *qk_scale;
    int masking;
    double drop_ratio;
    int global_view_tokens;
    int positions;
} Vit;

#define FIELD(f) offsetof(Vit, f)
// clang-format off
static const SrOption options[] = {
    {"name", SR_OPT_IGNORED, 0, "\"\"", .help = "it is a label for readers only"},
    {"HYBRID", SR_OPT_IGNORED, 0, "null", .choices = SR_REFUSED, .help = "a stem of convolutions is not implemented"},
    {"IMAGE_SIZE", SR_OPT_INT, FIELD(image_size), "224", 1, 65535,
     .help = "Side in pixels for which there are position embeddings; they are resampled for images of other sizes."},
    {"PATCH_SIZE", SR_OPT_INT, FIELD(patch_size), "16", 1, 1024, .help = "Side of a patch in pixels."},
    {"NUM_LAYERS", SR_OPT_INT, FIELD(layers), "12", 1, MAX_LAYERS, .help = "Blocks."},
    {"NUM_HEADS", SR_OPT_INT, FIELD(heads), "12", 1, 1024, .help = "Number of attention heads."},
    {"HIDDEN_DIM", SR_OPT_INT, FIELD(hidden_dim), "768", 1, 65536, .help = "Width of a token."},
    {"MLP_DIM", SR_OPT_INT, FIELD(mlp_dim), "3072", 1, 1 << 20, .help = "Hidden width of a block's MLP."},
    {"DROPOUT_RATE", SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99,
     .help = "Dropout of tokens, of the attention's output and in the MLP."},
    {"ATTENTION_DROPOUT_RATE", SR_OPT_FLOAT, FIELD(attention_dropout), "0", 0, 0.99,
     .help = "Dropout of attention probabilities."},
    {"CLASSIFIER", SR_OPT_IGNORED, 0, "token", .help = "USE_CLASS_TOKEN decides, as in VISSL"},
    {"DROP_PATH_RATE", SR_OPT_FLOAT, FIELD(drop_path), "0", 0, 0.99,
     .help = "Probability of leaving out a branch of the last block; earlier blocks have proportionally less."},
    {"QKV_BIAS", SR_OPT_BOOL, FIELD(qkv_bias), "False", .help = "Queries, keys and values have biases."},
    {"QK_SCALE", SR_OPT_TREE, FIELD(qk_scale), "False",
     .help = "Factor that scales attention scores before the softmax; False: 1 / sqrt(width of a head)."},
    {"CHECKPOINT_MLP", SR_OPT_IGNORED, 0, "False",
     .help = "MODEL.ACTIVATION_CHECKPOINTING and MACHINE.RECOMPUTE decide what is recomputed"},
    {"CHECKPOINT_BLOCK", SR_OPT_IGNORED, 0, "False",
     .help = "MODEL.ACTIVATION_CHECKPOINTING and MACHINE.RECOMPUTE decide what is recomputed"},
    {"MASKED_IMAGE_MODELING.NAME", SR_OPT_ENUM, FIELD(masking), "\"\"", .choices = "|ibot|msn",
     .help = "ibot: hidden patches are replaced by a learned token; msn: patches of large views are dropped at random."},
    {"MASKED_IMAGE_MODELING.PARAMS.drop_ratio", SR_OPT_FLOAT, FIELD(drop_ratio), "0", 0, 0.99,
     .help = "msn: share of the patches that are dropped."},
    {"MASKED_IMAGE_MODELING.PARAMS.global_view_tokens", SR_OPT_INT, FIELD(global_view_tokens), "196", 1, 1 << 20,
     .help = "msn: views with fewer patches than this keep them all."},
    {"USE_CLASS_TOKEN", SR_OPT_BOOL, FIELD(class_token), "True",
     .help = "The image's feature is a class token; False: the mean of the patches."},
    {"POS_EMBED", SR_OPT_ENUM, FIELD(positions), "learned", .choices = "learned|sincos",
     .help = "learned: position embeddings are parameters; sincos: they are fixed sines and cosines of the position (MAE,"
     " MoCo v3, I-JEPA)."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-6);
}

static SrNodeId attention(SrBuilder *b, const Vit *p, bool last, SrNodeId x) {
    SrAttentionParams heads = {.num_heads = p->heads,
                               .scale = sr_token_scale(p->qk_scale),
                               .dropout = p->attention_dropout};
    sr_builder_push_block(b, "attn", "Attention");
    x = sr_token_linear(b, "qkv", x, 3 * p->hidden_dim, p->qkv_bias, 0.02);
    if (last)
        sr_token_attention_map(b, x, p->heads, heads.scale);
    x = sr_build(b, "attention", "attention", &heads, x);
    x = sr_token_linear(b, "proj", x, p->hidden_dim, true, 0.02);
    x = sr_token_dropout(b, "proj_drop", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Vit *p, int i, SrNodeId x) {
    double drop = p->layers > 1 ? p->drop_path * i / (p->layers - 1) : 0;
    SrTokenMlp mlp = {.width = p->mlp_dim, .dropout = p->dropout};
    sr_builder_push_numbered(b, "Block", "blocks.%d", i);
    x = sr_token_residual(b, x, attention(b, p, i + 1 == p->layers, norm(b, "norm1", x)), drop,
                          NULL, 0);
    x = sr_token_residual(b, x, sr_token_mlp(b, norm(b, "norm2", x), &mlp), drop, NULL, 0);
    sr_builder_pop(b);
    return x;
}

typedef struct {
    int h, w, prefix; // grid of patches of this image; number of tokens before them
    bool whole;       // true: all patches are tokens
} Grid;

static SrNodeId patches(SrBuilder *b, const Vit *p, SrNodeId image, Grid *grid) {
    sr_builder_push_block(b, "patch_embed", "PatchEmbed");
    SrNodeId x = sr_token_patches(b, image, p->patch_size, p->hidden_dim);
    SrShape s = sr_build_shape(b, x);
    *grid = (Grid){s.d[1], s.d[2], p->class_token, true};
    x = sr_token_flatten(b, "flatten", x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId hide(SrBuilder *b, SrNodeId x, SrNodeId mask) {
    SrNodeId in[2] = {x, mask};
    sr_builder_set_entry(b, "token", "patch_masking.masked_embed");
    return sr_build_n(b, "mask_tokens", "mask_tokens", NULL, in, 2);
}

static SrNodeId positions(SrBuilder *b, const Vit *p, SrNodeId x, const Grid *grid) {
    int side = p->image_size / p->patch_size;
    SrAddPositionsParams add = {
        .prefix = grid->prefix, .from_h = side, .from_w = side, .to_h = grid->h, .to_w = grid->w};
    bool frozen = sr_builder_set_frozen(b, true);
    if (p->positions == POSITIONS_SINCOS)
        sr_builder_set_init(b, "positions", (SrInit){SR_INIT_SINE_POSITIONS, grid->prefix});
    else
        sr_builder_set_frozen(b, frozen);
    sr_builder_set_entry(b, "positions", "pos_embed");
    x = sr_build(b, "add_positions", "add", &add, x);
    sr_builder_set_frozen(b, frozen);
    return sr_token_dropout(b, "pos_drop", x, p->dropout);
}

// Drops patches at random (Assran et al., "Masked siamese networks", arXiv:2204.07141, section 3).
static SrNodeId drop_patches(SrBuilder *b, const Vit *p, SrNodeId x, Grid *grid) {
    int all = grid->h * grid->w, kept = (int)(all * (1 - p->drop_ratio));
    if (p->masking != MASKING_MSN || all < p->global_view_tokens || kept == all)
        return x;
    grid->whole = false;
    SrDropTokensParams drop = {.prefix = grid->prefix, .kept = SR_MAX(kept, 1)};
    return sr_build(b, "drop_tokens", "patch_drop", &drop, x);
}

// Keeps the visible patches; the encoder never sees the others (He et al., "Masked autoencoders",
// arXiv:2111.06377, section 3).
static SrNodeId keep_visible(SrBuilder *b, SrNodeId x, SrNodeId visible, Grid *grid) {
    grid->whole = false;
    return sr_build_n(b, "gather_tokens", "gather", &(SrGatherTokensParams){grid->prefix},
                      (SrNodeId[]){x, visible}, 2);
}

// Builds the tokens (N, L, D): patches, class token, mask tokens, positions.
static SrNodeId tokens(SrBuilder *b, const Vit *p, const SrTrunkInput *in, Grid *grid) {
    SrNodeId x = patches(b, p, in->image, grid);
    if (in->mask != SR_NO_NODE)
        x = hide(b, x, in->mask);
    if (p->class_token) {
        sr_builder_set_entry(b, "token", "cls_token");
        x = sr_build(b, "prepend_token", "cat", NULL, x);
    }
    x = positions(b, p, x, grid);
    if (in->mask != SR_NO_NODE)
        sr_build_alias(b, "patch_masking", x);
    return in->visible ? keep_visible(b, x, *in->visible, grid) : drop_patches(b, p, x, grid);
}

static SrStatus check(SrBuilder *b, const Vit *p, const SrTrunkInput *in) {
    SR_TRY(sr_token_sizes_check(b, SUBTREE, p->hidden_dim, p->heads, p->image_size, p->patch_size));
    if (sr_token_scale(p->qk_scale) < 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".QK_SCALE must be False or a number above 0");
    if (p->positions == POSITIONS_SINCOS && p->hidden_dim % 4)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            SUBTREE ".HIDDEN_DIM %d must be a multiple of 4 with POS_EMBED sincos", p->hidden_dim);
    if (in->mask != SR_NO_NODE && p->masking != MASKING_IBOT)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "a mask of hidden patches needs " SUBTREE
                               ".MASKED_IMAGE_MODELING.NAME ibot");
    return SR_OK;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Vit *p = params;
    Grid grid;
    SrNodeId raw[MAX_LAYERS], normed[MAX_LAYERS], x;
    SR_TRY(check(b, p, in));
    x = tokens(b, p, in, &grid);
    for (int i = 0; i < p->layers; i++)
        raw[i] = x = block(b, p, i, x);
    sr_token_norms(b, raw, p->layers, 1e-6, normed);
    sr_token_features(b,
                      &(SrTokenFeatures){.blocks = p->layers,
                                         .raw = raw,
                                         .normed = normed,
                                         .class_token = p->class_token,
                                         .n_prefix = p->class_token,
                                         .h = grid.whole ? grid.h : 0,
                                         .w = grid.whole ? grid.w : 0},
                      out);
    out->grid_h = grid.h;
    out->grid_w = grid.w;
    return sr_builder_status(b);
}

static int layers(const void *params) { return ((const Vit *)params)->layers; }

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, "
     "QKV_BIAS: True, MASKED_IMAGE_MODELING: {NAME: ibot}}",
     32, 16},
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 3, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, "
     "DROP_PATH_RATE: 0.2, DROPOUT_RATE: 0.1, USE_CLASS_TOKEN: False, POS_EMBED: sincos}",
     32, 48}};

const SrTrunk sr_trunk_vision_transformer = {
    .name = "vision_transformer",
    .help = "VISSL's vision transformer: ViT, DeiT, DINO, iBOT, MSN",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Vit),
    .flags = SR_TRUNK_TAKES_MASK | SR_TRUNK_TAKES_VISIBLE,
    .build = build,
    .layers = layers,
    .depth = sr_depth_of_blocks,
    .decays_by_name = true,
    .examples = SR_LIST(examples),
};
