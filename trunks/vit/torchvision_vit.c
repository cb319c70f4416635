// Two vision transformers (Dosovitskiy et al., arXiv:2010.11929) of one builder.  `torchvision_vit`
// has torchvision's nodes, names and initial values.  `classy_vit` is its ancestor, ClassyVision's
// net as VISSL wraps it (vissl/models/trunks/classy_vision_transformer.py), with the sequence as
// first dimension of its position embeddings.  trunks/vit/vision_transformer.c derives from timm's.
//
// torchvision's model takes images of IMAGE_SIZE only.  Its trunk takes any size: position
// embeddings are resampled like torchvision's interpolate_embeddings.  Like VISSL, classy_vit uses
// 1e-6 as epsilon of norms and does not read drop path and query scale.
#include <math.h>
#include <string.h>

#include "base/text/text.h"
#include "graph/ir/token_blocks.h"
#include "kernels/basic/linear.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/reshape.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/tokens/add_positions.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.TORCHVISION_VIT"
#define CLASSY_SUBTREE "MODEL.TRUNK.VISION_TRANSFORMERS"

enum { TOKEN, GAP };

typedef struct {
    int image_size, patch_size, layers, heads, hidden_dim, mlp_dim;
    int classifier; // TOKEN or GAP
    double dropout, attention_dropout, norm_eps;
    bool classy; // set by the trunk: ClassyVision's names, and no nodes that only torch.fx has
} Vit;

#define FIELD(f) offsetof(Vit, f)
// clang-format off
static const SrOption options[] = {
    SR_ROW_IMAGE_SIZE("224"),
    SR_ROW_PATCH_SIZE("16"),
    SR_ROWS_LAYERS("12", "12", "768"),
    SR_ROW_MLP_DIM("3072"),
    SR_ROW_TOKEN_DROPOUT("DROPOUT"),
    SR_ROW_ATTENTION_DROPOUT("ATTENTION_DROPOUT"),
    {"NORM_EPS", SR_OPT_FLOAT, FIELD(norm_eps), "1e-6", 0, 1,
     .help = "Epsilon of layer norms; Hugging Face's ViT has 1e-12."},
    SR_OPTION_END,
};

#define UNREAD "classy_vit does not read the key, as in VISSL"
// The options of classy_vit are those of vision_transformer: each of its keys has a row here.
static const SrOption classy_options[] = {
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

// ---- nodes of torch.fx

static void remarks(SrBuilder *b, const Vit *p, const char *const *leaf, int n) {
    for (int i = 0; i < n && !p->classy; i++)
        sr_build_remark(b, leaf[i], NULL);
}

// Adds torch.nn.MultiheadAttention, a single call in torch.fx that returns a tuple; its first
// item is the value.
static SrNodeId self_attention(SrBuilder *b, const Vit *p, bool last, SrNodeId x) {
    SrMultiheadAttention attention = {p->heads, p->attention_dropout, last};
    if (p->classy)
        return sr_multihead_attention(b, x, &attention);
    sr_build_remark(b, "self_attention", NULL);
    bool aside = sr_builder_set_aside(b, true);
    x = sr_multihead_attention(b, x, &attention);
    sr_builder_set_aside(b, aside);
    x = sr_build(b, "identity", "getitem", NULL, x);
    sr_build_remark(b, "getitem", NULL);
    return x;
}

static SrNodeId dropout(SrBuilder *b, const Vit *p, const char *leaf, SrNodeId x) {
    return p->classy ? sr_token_dropout(b, leaf, x, p->dropout)
                     : sr_dropout(b, leaf, x, p->dropout);
}

// ---- blocks

static SrNodeId norm(SrBuilder *b, const Vit *p, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, p->norm_eps);
}

// torch.fx drops the number at the end of a module's name, so ln_1 and ln_2 are the nodes ln and
// ln_1.
static SrNodeId block_norm(SrBuilder *b, const Vit *p, const char *leaf, const char *weight,
                           const char *bias, SrNodeId x) {
    sr_builder_set_entry(b, "weight", weight);
    sr_builder_set_entry(b, "bias", bias);
    return norm(b, p, p->classy ? leaf : "ln", x);
}

static SrNodeId mlp(SrBuilder *b, const Vit *p, SrNodeId x) {
    static const char *const names[][6] = {
        {"MLP", "0", "1", "2", "3", "4"},
        {"MLPBlock", "linear_1", "act", "dropout_1", "linear_2", "dropout_2"}};
    const char *const *name = names[p->classy];
    sr_builder_push_block(b, "mlp", name[0]);
    x = sr_xavier_linear(b, name[1], x, p->mlp_dim);
    x = sr_build(b, "gelu", name[2], NULL, x);
    x = dropout(b, p, name[3], x);
    x = sr_xavier_linear(b, name[4], x, p->hidden_dim);
    x = dropout(b, p, name[5], x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Vit *p, int i, SrNodeId x) {
    sr_builder_push_numbered(b, "EncoderBlock", p->classy ? "layer_%d" : "encoder_layer_%d", i);
    remarks(b, p, (const char *[]){"dim", "eq", "getattr", "_assert"}, 4);
    SrNodeId y = block_norm(b, p, "ln_1", "ln_1.weight", "ln_1.bias", x);
    y = self_attention(b, p, i + 1 == p->layers, y);
    y = dropout(b, p, "dropout", y);
    x = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){y, x}, 2);
    y = mlp(b, p, block_norm(b, p, "ln_2", "ln_2.weight", "ln_2.bias", x));
    x = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){x, y}, 2);
    sr_builder_pop(b);
    return x;
}

// ---- tokens

// (N, H, W, 3) -> (N, L, D)
static SrNodeId patches(SrBuilder *b, const Vit *p, SrNodeId image, SrTokenLayout *grid) {
    double fan_in = 3.0 * p->patch_size * p->patch_size;
    remarks(b, p,
            (const char *[]){"getattr", "getitem", "getitem", "getitem", "getitem", "eq", "_assert",
                             "eq", "_assert", "floordiv", "floordiv"},
            11);
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, sqrt(1 / fan_in)});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    SrNodeId x =
        sr_conv_bias(b, "conv_proj", image, p->hidden_dim, p->patch_size, p->patch_size, 0);
    SrShape s = sr_build_shape(b, x);
    *grid = (SrTokenLayout){.h = s.d[1], .w = s.d[2]};
    remarks(b, p, (const char *[]){"mul"}, 1);
    x = sr_build(b, "reshape", "reshape",
                 &(SrReshapeParams){.d1 = grid->h * grid->w, .d2 = p->hidden_dim}, x);
    return sr_build(b, "permute", p->classy ? "transpose" : "permute",
                    &(SrPermuteParams){.channels = SR_CHANNELS_LAST}, x);
}

static SrNodeId add_class_token(SrBuilder *b, const Vit *p, SrNodeId x) {
    SrShape tokens = SR_SHAPE(sr_build_shape(b, x).d[0], 1, p->hidden_dim);
    if (p->classifier == GAP)
        return x;
    if (!p->classy) {
        remarks(b, p, (const char *[]){"getattr", "getitem"}, 2);
        sr_build_parameter_remark(b, "class_token", SR_SHAPE(1, 1, p->hidden_dim));
        sr_build_remark(b, "expand", &tokens);
    }
    sr_builder_set_init(b, "token", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_prepend_token(b, "class_token", x);
}

static SrNodeId add_positions(SrBuilder *b, const Vit *p, SrNodeId x, const SrTokenLayout *grid) {
    int side = p->image_size / p->patch_size;
    SrAddPositionsParams add = {.prefix = p->classifier == TOKEN,
                                .from_h = side,
                                .from_w = side,
                                .to_h = grid->h,
                                .to_w = grid->w,
                                .align_corners = !p->classy,
                                .sequence_first = p->classy};
    remarks(b, p, (const char *[]){"dim", "eq", "getattr", "_assert"}, 4);
    if (!p->classy)
        sr_build_parameter_remark(b, "pos_embedding", SR_SHAPE(1, 1 + side * side, p->hidden_dim));
    sr_builder_set_entry(b, "positions", "pos_embedding");
    x = sr_build(b, "add_positions", "add", &add, x);
    return dropout(b, p, "dropout", x);
}

// Adds patches, tokens, blocks and the last norm, whose node is returned.
static SrNodeId encode(SrBuilder *b, const Vit *p, SrNodeId image, SrNodeId *blocks,
                       SrTokenLayout *grid) {
    SrNodeId x = add_class_token(b, p, patches(b, p, image, grid));
    sr_builder_push_block(b, "encoder", "Encoder");
    x = add_positions(b, p, x, grid);
    if (p->classy)
        sr_builder_push(b, "layers");
    else
        sr_builder_push_block(b, "layers", "Sequential");
    for (int i = 0; i < p->layers; i++)
        blocks[i] = x = block(b, p, i, x);
    sr_builder_pop(b);
    x = norm(b, p, "ln", x);
    sr_builder_pop(b);
    return x;
}

// ---- torchvision's trunk

// Announces VISSL's and timm's stages, which are no nodes of torchvision.
static void stages(SrBuilder *b, SrNodeId last, SrTokenFeatures *f, SrTrunkOutput *out) {
    SrNodeId normed[SR_TOKEN_MAX_BLOCKS];
    bool aside = sr_builder_set_aside(b, true);
    sr_builder_push(b, "stages");
    sr_token_norms_again(b, last, f->raw, f->blocks, normed);
    f->normed = normed;
    sr_token_features(b, f, out);
    sr_builder_pop(b);
    sr_builder_set_aside(b, aside);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Vit *p = params;
    SrNodeId blocks[SR_TOKEN_MAX_BLOCKS];
    SrTokenFeatures f = {.blocks = p->layers, .raw = blocks, .class_token = true, .n_prefix = 1};
    SR_TRY(sr_token_sizes_check(b, SUBTREE, p->hidden_dim, p->heads, p->image_size, p->patch_size));
    SrNodeId x = encode(b, p, in->image, blocks, &f.grid);
    stages(b, x, &f, out);
    out->pooled = sr_first_token(b, x);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    sr_builder_push_block(b, "heads", "Sequential");
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_CONSTANT, 0});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    *logits = sr_build(b, "linear", "head",
                       &(SrLinearParams){.out_features = preset->classes, .bias = true},
                       features->pooled);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static int layers(const void *params) { return ((const Vit *)params)->layers; }

// "encoder.layers.encoder_layer_3." has depth 4; tokens, positions and patches have depth 0; the
// last norm has the last block's depth.
static int depth(const char *name, int blocks) {
    const char *at = strstr(name, "encoder_layer_");
    int i = at ? sr_text_number_after(at, "encoder_layer_") : -1;
    if (at)
        return SR_MIN(i, blocks - 1) + 1;
    return strstr(name, "encoder.ln.") ? blocks : strstr(name, "heads.") ? blocks + 1 : 0;
}

static const SrPreset presets[] = {
    {"vit_b_16", "{PATCH_SIZE: 16}", "heads.head", 1000},
    {"vit_b_32", "{PATCH_SIZE: 32}", "heads.head", 1000},
    {"vit_l_16", "{PATCH_SIZE: 16, NUM_LAYERS: 24, NUM_HEADS: 16, HIDDEN_DIM: 1024, MLP_DIM: 4096}",
     "heads.head", 1000},
    {"vit_l_32", "{PATCH_SIZE: 32, NUM_LAYERS: 24, NUM_HEADS: 16, HIDDEN_DIM: 1024, MLP_DIM: 4096}",
     "heads.head", 1000},
    {"vit_h_14", "{PATCH_SIZE: 14, NUM_LAYERS: 32, NUM_HEADS: 16, HIDDEN_DIM: 1280, MLP_DIM: 5120}",
     "heads.head", 1000},
};

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, "
     "DROPOUT: 0.1, ATTENTION_DROPOUT: 0.1}",
     32, 48}};

const SrTrunk sr_trunk_torchvision_vit = {
    .name = "torchvision_vit",
    .help = "torchvision's vision transformers",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Vit),
    .build = build,
    .layers = layers,
    .depth = depth,
    .decays_by_name = true,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};

// ---- ClassyVision's trunk

static SrStatus check_classy(SrBuilder *b, const Vit *p, SrNodeId image) {
    SrShape s = sr_build_shape(b, image);
    if (s.d[1] != p->image_size || s.d[2] != p->image_size || p->image_size % p->patch_size)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "classy_vit takes images of " CLASSY_SUBTREE
                               ".IMAGE_SIZE %d in whole patches of %d, not %d x %d; "
                               "vision_transformer takes any size",
                               p->image_size, p->patch_size, s.d[1], s.d[2]);
    return sr_token_sizes_check(b, CLASSY_SUBTREE, p->hidden_dim, p->heads, p->image_size,
                                p->patch_size);
}

static SrStatus build_classy(SrBuilder *b, const void *params, const SrTrunkInput *in,
                             SrTrunkOutput *out) {
    Vit p = *(const Vit *)params;
    p.classy = true;
    p.norm_eps = 1e-6;
    SrNodeId raw[SR_TOKEN_MAX_BLOCKS], normed[SR_TOKEN_MAX_BLOCKS];
    SrTokenFeatures features = {.blocks = p.layers,
                                .raw = raw,
                                .normed = normed,
                                .class_token = p.classifier == TOKEN,
                                .n_prefix = p.classifier == TOKEN};
    SR_TRY(check_classy(b, &p, in->image));
    sr_builder_push_block(b, "model", "VisionTransformer");
    SrNodeId x = encode(b, &p, in->image, raw, &features.grid);
    sr_builder_pop(b);
    sr_builder_push(b, "stages");
    sr_token_norms_again(b, x, raw, p.layers, normed);
    sr_builder_pop(b);
    sr_token_features(b, &features, out);
    return sr_builder_status(b);
}

static const SrTrunkExample classy_examples[] = {
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, "
     "DROPOUT_RATE: 0.1}",
     32, 0},
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 1, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32, "
     "CLASSIFIER: gap}",
     32, 0}};

const SrTrunk sr_trunk_classy_vit = {
    .name = "classy_vit",
    .help = "ClassyVision's vision transformer",
    .subtree = CLASSY_SUBTREE,
    .options = classy_options,
    .params_bytes = sizeof(Vit),
    .build = build_classy,
    .decays_by_name = true,
    .examples = SR_LIST(classy_examples),
};
