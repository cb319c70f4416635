// The vision transformer (Dosovitskiy et al., arXiv:2010.11929; DeiT, arXiv:2012.12877) with
// VISSL's keys, names and features (vissl/models/trunks/vision_transformer.py).
// trunks/vit/torchvision_vit.c has torchvision's names.
#include "graph/ir/token_blocks.h"
#include "kernels/tokens/drop_tokens.h"
#include "kernels/tokens/gather_tokens.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.VISION_TRANSFORMERS"

enum { MASKING_NONE, MASKING_IBOT, MASKING_MSN };
enum { POSITIONS_LEARNED, POSITIONS_SINCOS };

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
    SR_ROW_IMAGE_SIZE("224"),
    SR_ROW_PATCH_SIZE("16"),
    SR_ROWS_LAYERS("12", "12", "768"),
    SR_ROW_MLP_DIM("3072"),
    SR_ROW_TOKEN_DROPOUT("DROPOUT_RATE"),
    SR_ROW_ATTENTION_DROPOUT("ATTENTION_DROPOUT_RATE"),
    {"CLASSIFIER", SR_OPT_IGNORED, 0, "token", .help = "USE_CLASS_TOKEN decides, as in VISSL"},
    SR_ROW_DROP_PATH("DROP_PATH_RATE", "0"),
    SR_ROW_QKV_BIAS("False"),
    SR_ROW_QK_SCALE,
    SR_ROW_CHECKPOINT("CHECKPOINT_MLP"),
    SR_ROW_CHECKPOINT("CHECKPOINT_BLOCK"),
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

static SrNodeId hide(SrBuilder *b, SrNodeId x, SrNodeId mask) {
    SrNodeId in[2] = {x, mask};
    sr_builder_set_entry(b, "token", "patch_masking.masked_embed");
    return sr_build_n(b, "mask_tokens", "mask_tokens", NULL, in, 2);
}

static SrNodeId positions(SrBuilder *b, const Vit *p, SrNodeId x, const SrTokenLayout *grid) {
    int side = p->image_size / p->patch_size;
    bool frozen = sr_builder_set_frozen(b, true);
    if (p->positions == POSITIONS_SINCOS)
        sr_builder_set_init(b, "positions", (SrInit){SR_INIT_SINE_POSITIONS, p->class_token});
    else
        sr_builder_set_frozen(b, frozen);
    x = sr_token_positions(b, "pos_embed", x, p->class_token, side, grid);
    sr_builder_set_frozen(b, frozen);
    return sr_token_dropout(b, "pos_drop", x, p->dropout);
}

// Drops patches at random (Assran et al., "Masked siamese networks", arXiv:2204.07141, section 3).
static SrNodeId drop_patches(SrBuilder *b, const Vit *p, SrNodeId x, SrTokenLayout *grid) {
    int all = grid->h * grid->w, kept = (int)(all * (1 - p->drop_ratio));
    if (p->masking != MASKING_MSN || all < p->global_view_tokens || kept == all)
        return x;
    grid->dropped = true;
    SrDropTokensParams drop = {.prefix = p->class_token, .kept = SR_MAX(kept, 1)};
    return sr_build(b, "drop_tokens", "patch_drop", &drop, x);
}

// Keeps the visible patches; the encoder never sees the others (He et al., "Masked autoencoders",
// arXiv:2111.06377, section 3).
static SrNodeId keep_visible(SrBuilder *b, const Vit *p, SrNodeId x, SrNodeId visible,
                             SrTokenLayout *grid) {
    grid->dropped = true;
    return sr_build_n(b, "gather_tokens", "gather", &(SrGatherTokensParams){p->class_token},
                      (SrNodeId[]){x, visible}, 2);
}

// Builds the tokens (N, L, D): patches, class token, mask tokens, positions.
static SrNodeId tokens(SrBuilder *b, const Vit *p, const SrTrunkInput *in, SrTokenLayout *grid) {
    SrNodeId x = sr_patch_tokens(b, in->image, p->patch_size, p->hidden_dim, true, grid);
    if (in->mask != SR_NO_NODE)
        x = hide(b, x, in->mask);
    if (p->class_token)
        x = sr_prepend_token(b, "cls_token", x);
    x = positions(b, p, x, grid);
    if (in->mask != SR_NO_NODE)
        sr_build_alias(b, "patch_masking", x);
    return in->visible ? keep_visible(b, p, x, *in->visible, grid) : drop_patches(b, p, x, grid);
}

static SrStatus check(SrBuilder *b, const Vit *p, const SrTrunkInput *in) {
    SR_TRY(sr_token_sizes_check(b, SUBTREE, p->hidden_dim, p->heads, p->image_size, p->patch_size));
    SR_TRY(sr_token_scale_check(b, SUBTREE, p->qk_scale));
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
    SrNodeId raw[SR_TOKEN_MAX_BLOCKS];
    SR_TRY(check(b, p, in));
    SrTokenBlock block = {.num_heads = p->heads,
                          .mlp_width = p->mlp_dim,
                          .no_qkv_bias = !p->qkv_bias,
                          .scale = sr_token_scale(p->qk_scale),
                          .attention_dropout = p->attention_dropout,
                          .dropout = p->dropout,
                          .drop_path = p->drop_path,
                          .last = true};
    SrTokenFeatures features = {.blocks = p->layers,
                                .raw = raw,
                                .eps = 1e-6,
                                .class_token = p->class_token,
                                .n_prefix = p->class_token};
    SrNodeId x = tokens(b, p, in, &features.grid);
    sr_token_blocks(b, "blocks", x, &block, p->layers, raw);
    sr_token_features(b, &features, out);
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
