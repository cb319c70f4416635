// ClassyVision's vision transformer (Dosovitskiy et al., arXiv:2010.11929) as VISSL wraps it
// (vissl/models/trunks/classy_vision_transformer.py): the ancestor of torchvision's, with the
// sequence as first dimension of its position embeddings.  The trunk vision_transformer derives
// from timm's.
//
// Like VISSL, it uses 1e-6 as epsilon of norms and does not read drop path and query scale.
#include <math.h>

#include "graph/ir/token_blocks.h"
#include "kernels/conv/conv2d.h"
#include "kernels/tokens/add_positions.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.VISION_TRANSFORMERS"

enum { TOKEN, GAP };

typedef struct {
    int image_size, patch_size, layers, heads, hidden_dim, mlp_dim, classifier;
    double dropout, attention_dropout;
} Vit;

#define FIELD(f) offsetof(Vit, f)
#define UNREAD "classy_vit does not read the key, as in VISSL"
// The options are those of vision_transformer: each of its keys has a row here.
// clang-format off
static const SrOption options[] = {
    {"name", SR_OPT_IGNORED, 0, "\"\"", .help = "it is a label for readers only"},
    {"HYBRID", SR_OPT_IGNORED, 0, "null", .choices = SR_REFUSED, .help = "a stem of convolutions is not implemented"},
    {"IMAGE_SIZE", SR_OPT_INT, FIELD(image_size), "224", 1, 65535, .help = "Side of images in pixels."},
    SR_ROW_PATCH_SIZE("16"),
    SR_ROWS_LAYERS("12", "12", "768"),
    SR_ROW_MLP_DIM("3072"),
    SR_ROW_TOKEN_DROPOUT("DROPOUT_RATE"),
    SR_ROW_ATTENTION_DROPOUT("ATTENTION_DROPOUT_RATE"),
    {"CLASSIFIER", SR_OPT_ENUM, FIELD(classifier), "token", .choices = "token|gap",
     .help = "Feature of the image.  token: a class token; gap: the mean of the patches."},
    {"DROP_PATH_RATE", SR_OPT_IGNORED, 0, "0", .help = UNREAD},
    {"QKV_BIAS", SR_OPT_IGNORED, 0, "False", .help = "queries, keys and values always have biases in classy_vit"},
    {"QK_SCALE", SR_OPT_IGNORED, 0, "False", .help = UNREAD},
    SR_ROW_CHECKPOINT("CHECKPOINT_MLP"),
    SR_ROW_CHECKPOINT("CHECKPOINT_BLOCK"),
    {"MASKED_IMAGE_MODELING.NAME", SR_OPT_IGNORED, 0, "\"\"", .help = UNREAD},
    {"MASKED_IMAGE_MODELING.PARAMS.drop_ratio", SR_OPT_IGNORED, 0, "0", .help = UNREAD},
    {"MASKED_IMAGE_MODELING.PARAMS.global_view_tokens", SR_OPT_IGNORED, 0, "196", .help = UNREAD},
    {"USE_CLASS_TOKEN", SR_OPT_IGNORED, 0, "True", .help = "CLASSIFIER decides in classy_vit"},
    {"POS_EMBED", SR_OPT_IGNORED, 0, "learned", .help = "position embeddings are always learned in classy_vit"},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-6);
}

static SrNodeId mlp(SrBuilder *b, const Vit *p, SrNodeId x) {
    sr_builder_push_block(b, "mlp", "MLPBlock");
    x = sr_build(b, "gelu", "act", NULL, sr_xavier_linear(b, "linear_1", x, p->mlp_dim));
    x = sr_token_dropout(b, "dropout_1", x, p->dropout);
    x = sr_xavier_linear(b, "linear_2", x, p->hidden_dim);
    x = sr_token_dropout(b, "dropout_2", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Vit *p, int i, SrNodeId x) {
    sr_builder_push_numbered(b, "EncoderBlock", "layers.layer_%d", i);
    SrNodeId y = sr_multihead_attention(
        b, norm(b, "ln_1", x),
        &(SrMultiheadAttention){p->heads, p->attention_dropout, i + 1 == p->layers});
    y = sr_token_dropout(b, "dropout", y, p->dropout);
    x = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){y, x}, 2);
    y = mlp(b, p, norm(b, "ln_2", x));
    x = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){x, y}, 2);
    sr_builder_pop(b);
    return x;
}

// (N, H, W, 3) -> (N, L, D); a class token comes first.
static SrNodeId tokens(SrBuilder *b, const Vit *p, SrNodeId image) {
    SrConv2dParams conv = {.out_channels = p->hidden_dim,
                           .kernel_h = p->patch_size,
                           .stride_h = p->patch_size,
                           .groups = 1,
                           .bias = true};
    double fan_in = 3.0 * p->patch_size * p->patch_size;
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, sqrt(1 / fan_in)});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    SrNodeId x = sr_token_flatten(b, "reshape", sr_build(b, "conv2d", "conv_proj", &conv, image));
    if (p->classifier == GAP)
        return x;
    sr_builder_set_init(b, "token", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_prepend_token(b, "class_token", x);
}

static SrNodeId positions(SrBuilder *b, const Vit *p, SrNodeId x, const SrTokenLayout *grid) {
    SrAddPositionsParams add = {.prefix = p->classifier == TOKEN,
                                .from_h = grid->h,
                                .from_w = grid->w,
                                .to_h = grid->h,
                                .to_w = grid->w,
                                .sequence_first = true};
    sr_builder_set_entry(b, "positions", "pos_embedding");
    x = sr_build(b, "add_positions", "add", &add, x);
    return sr_token_dropout(b, "dropout", x, p->dropout);
}

static SrStatus check(SrBuilder *b, const Vit *p, SrNodeId image) {
    SrShape s = sr_build_shape(b, image);
    if (s.d[1] != p->image_size || s.d[2] != p->image_size || p->image_size % p->patch_size)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "classy_vit takes images of " SUBTREE
                               ".IMAGE_SIZE %d in whole patches of %d, not %d x %d; "
                               "vision_transformer takes any size",
                               p->image_size, p->patch_size, s.d[1], s.d[2]);
    if (p->hidden_dim % p->heads)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".HIDDEN_DIM %d must be a multiple of NUM_HEADS %d",
                               p->hidden_dim, p->heads);
    return SR_OK;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Vit *p = params;
    int side = p->image_size / p->patch_size;
    SrNodeId raw[SR_TOKEN_MAX_BLOCKS], normed[SR_TOKEN_MAX_BLOCKS], x;
    SrTokenFeatures features = {.blocks = p->layers,
                                .raw = raw,
                                .normed = normed,
                                .class_token = p->classifier == TOKEN,
                                .n_prefix = p->classifier == TOKEN,
                                .grid = {.h = side, .w = side}};
    SR_TRY(check(b, p, in->image));
    sr_builder_push_block(b, "model", "VisionTransformer");
    x = tokens(b, p, in->image);
    sr_builder_push_block(b, "encoder", "Encoder");
    x = positions(b, p, x, &features.grid);
    for (int i = 0; i < p->layers; i++)
        raw[i] = x = block(b, p, i, x);
    x = norm(b, "ln", x);
    sr_builder_pop(b);
    sr_builder_pop(b);
    sr_builder_push(b, "stages");
    sr_token_norms_again(b, x, raw, p->layers, normed);
    sr_builder_pop(b);
    sr_token_features(b, &features, out);
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, "
     "DROPOUT_RATE: 0.1}",
     32, 0},
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 1, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, "
     "CLASSIFIER: gap}",
     32, 0}};

const SrTrunk sr_trunk_classy_vit = {
    .name = "classy_vit",
    .help = "ClassyVision's vision transformer",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Vit),
    .build = build,
    .decays_by_name = true,
    .examples = SR_LIST(examples),
};
