// Swin transformers, version 1 (Liu et al., arXiv:2103.14030) and version 2 (arXiv:2111.09883), as
// three trunks.  `torchvision_swin` has torchvision's nodes, names and initial values;
// `swin_transformer` and `swin_transformer_official` have VISSL's keys and names
// (vissl/models/trunks/swin_transformer.py and swin_transformer_official.py).
//
// VISSL's net takes images of any size: zeros fill them up to whole patches, and maps to whole
// windows.  A map no larger than a window is one smaller window without shift.  VISSL then uses the
// first rows and columns of the larger window's biases, token by token, and so does this trunk.
// The official net is the same one for images of IMAGE_SIZE; its stages pass tokens.  Its files of
// weights contain masks, which follow from the sizes and are skipped.
#include "graph/ir/token_blocks.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cosine_qk.h"
#include "kernels/attention/relative_bias.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/reshape.h"
#include "kernels/basic/scale.h"
#include "kernels/tokens/windows.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.SWIN_TRANSFORMER"
#define TORCHVISION_SUBTREE "MODEL.TRUNK.TORCHVISION_SWIN"

enum { MAX_STAGES = 8 };

typedef struct {
    int image_size, patch_size, embed_dim, window;
    SrInts depths, heads;
    double mlp_ratio, dropout, attention_dropout, drop_path;
    bool qkv_bias, v2;
    const SrYaml *qk_scale;
    bool official; // set by the trunk: stages return tokens, with channels last
} Swin;

#define FIELD(f) offsetof(Swin, f)
// clang-format off
#define ROWS_OF_BOTH(least_window) \
    SR_ROW_PATCH_SIZE("4"), \
    {"EMBED_DIM", SR_OPT_INT, FIELD(embed_dim), "96", 1, 65536, \
     .help = "Number of channels of the first stage; each following stage has twice as many."}, \
    {"DEPTHS", SR_OPT_INTS, FIELD(depths), "[2, 2, 6, 2]", 1, 1024, .help = "Number of blocks in each stage."}, \
    {"NUM_HEADS", SR_OPT_INTS, FIELD(heads), "[3, 6, 12, 24]", 1, 1024, \
     .help = "Number of attention heads in each stage."}, \
    {"WINDOW_SIZE", SR_OPT_INT, FIELD(window), "7", least_window, 1024, .help = "Side of a window in tokens."}, \
    {"MLP_RATIO", SR_OPT_FLOAT, FIELD(mlp_ratio), "4", 0.01, 64, \
     .help = "Hidden width of a block's MLP, as a multiple of its channels."}
static const SrOption options[] = {
    {"IMAGE_SIZE", SR_OPT_INT, FIELD(image_size), "224", 1, 65535,
     .help = "Side in pixels of the images that windows are made for; other sizes are padded with zeros."},
    ROWS_OF_BOTH(1),
    SR_ROW_TOKEN_DROPOUT("DROPOUT_RATE"),
    SR_ROW_ATTENTION_DROPOUT("ATTENTION_DROPOUT_RATE"),
    SR_ROW_DROP_PATH("DROP_PATH_RATE", "0.1"),
    SR_ROW_QKV_BIAS("True"),
    SR_ROW_QK_SCALE,
    SR_OPTION_END,
};
static const SrOption torchvision_options[] = {
    {"V2", SR_OPT_BOOL, FIELD(v2), "False",
     .help = "Version 2: norms after the branches, cosine attention, position biases from a small network."},
    ROWS_OF_BOTH(2),
    {"DROPOUT", SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99, .help = "Dropout of the attention's output and in the MLP."},
    SR_ROW_ATTENTION_DROPOUT("ATTENTION_DROPOUT"),
    SR_ROW_DROP_PATH("STOCHASTIC_DEPTH", "0.1"),
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-5);
}

static SrNodeId permute(SrBuilder *b, SrChannels channels, SrNodeId x) {
    return sr_build(b, "permute", "permute", &(SrPermuteParams){.channels = channels}, x);
}

// ---- attention within the windows of a map

typedef struct {
    int heads;
    int side;             // of the windows
    int shift_h, shift_w; // in pixels; 0 in a dimension that one window spans
    double scale;         // of the scores; 0: 1 / sqrt(head dimension)
    bool qkv_bias;
} Windows;

// Version 2 has cosine attention with logit_scale, and no bias for keys.
static SrNodeId qkv(SrBuilder *b, const Swin *p, const Windows *w, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    x = sr_token_linear(b, "qkv", x, 3 * dim, w->qkv_bias && !p->v2, 0.02);
    if (!p->v2)
        return x;
    sr_builder_set_entry(b, "bias", "qkv.bias");
    x = sr_build(b, "qv_bias", "qv_bias", NULL, x);
    sr_builder_set_entry(b, "logit_scale", "logit_scale");
    return sr_build(b, "cosine_qk", "cosine_qk", &(SrCosineQkParams){w->heads}, x);
}

// Adds the layer `qkv`, windows, attention with the bias `relative` (1, heads, window, window), and
// the reassembled map: (N, H, W, C) -> (N, H, W, C), before the projection.  If the map is padded
// to whole windows, the zeros are tokens like others, as in torchvision and VISSL.
static SrNodeId window_attention(SrBuilder *b, const Swin *p, const Windows *w, SrNodeId x,
                                 SrNodeId relative) {
    SrShape s = sr_build_shape(b, x);
    SrWindowsParams windows = {
        .window_h = w->side, .window_w = w->side, .shift_h = w->shift_h, .shift_w = w->shift_w};
    SrAttentionParams attention = {
        .num_heads = w->heads, .scale = w->scale, .dropout = p->attention_dropout};
    if (w->shift_h > 0 || w->shift_w > 0) {
        attention.windows_h = (s.d[1] + w->side - 1) / w->side;
        attention.windows_w = (s.d[2] + w->side - 1) / w->side;
        attention.window_h = w->side;
        attention.window_w = w->side;
        attention.shift_h = w->shift_h;
        attention.shift_w = w->shift_w;
    }
    x = qkv(b, p, w, sr_build(b, "windows", "partition", &windows, x));
    x = sr_build_n(b, "attention", "attention", &attention, (SrNodeId[]){x, relative}, 2);
    windows.merge = true;
    windows.height = s.d[1];
    windows.width = s.d[2];
    return sr_build(b, "windows", "reverse", &windows, x);
}

// ---- blocks and stages of both

// Settings of the blocks of one stage, independent of the image's size.
typedef struct {
    int dim, heads;
    int window; // side of the window that the biases were made for
    int shift;
    double drop; // probability of leaving out a branch
} Block;

// `first`: number of blocks in earlier stages.
static Block block_of(const Swin *p, int stage, int first, int k) {
    int blocks = sr_depth_total(p->depths);
    return (Block){.dim = p->embed_dim << stage,
                   .heads = p->heads.v[stage],
                   .window = p->window,
                   .shift = k % 2 == 0 ? 0 : p->window / 2,
                   .drop = blocks > 1 ? p->drop_path * (first + k) / (blocks - 1) : 0};
}

// Adds a norm, and a layer that halves the number of channels of 2 x 2 tokens; version 2 has them
// in the other order.
static SrNodeId merge(SrBuilder *b, const Swin *p, const char *leaf, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    x = sr_build(b, "merge_patches", leaf, NULL, x);
    if (!p->v2)
        x = norm(b, "norm", x);
    x = sr_token_linear(b, "reduction", x, 2 * dim, false, 0.02);
    return p->v2 ? norm(b, "norm", x) : x;
}

// heads: gives the number of heads of a stage.
static SrStatus check(SrBuilder *b, const Swin *p, const char *subtree,
                      int (*heads)(const Swin *p, int stage)) {
    if (p->depths.n != p->heads.n || p->depths.n < 1 || p->depths.n > MAX_STAGES)
        return sr_builder_fail(
            b, SR_ERR_CONFIG, "%s.DEPTHS has %d stages and NUM_HEADS %d: expected as many, 1 to %d",
            subtree, p->depths.n, p->heads.n, MAX_STAGES);
    for (int i = 0; i < p->heads.n; i++)
        if ((p->embed_dim << i) % heads(p, i))
            return sr_builder_fail(b, SR_ERR_CONFIG,
                                   "%s.NUM_HEADS %d of stage %d does not divide its %d channels",
                                   subtree, p->heads.v[i], i, p->embed_dim << i);
    return SR_OK;
}

// ---- VISSL's trunks

// VISSL's swint_base keeps the tiny net's NUM_HEADS, which do not divide its channels, and fails
// in its first forward pass.  Heads have 32 channels here, as in every size of the paper.
static int heads_of(const Swin *p, int stage) {
    int dim = p->embed_dim << stage;
    return dim % p->heads.v[stage] && dim % 32 == 0 ? dim / 32 : p->heads.v[stage];
}

// Converts between the layout inside stages and the layout between them.
static SrNodeId handed_on(SrBuilder *b, const Swin *p, SrNodeId x) {
    return permute(b, p->official ? SR_CHANNELS_LAST : SR_CHANNELS_FIRST, x);
}

static SrNodeId attention(SrBuilder *b, const Swin *p, const Block *k, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    int side = SR_MIN(s.d[1], s.d[2]);
    bool small = side <= k->window;
    int window = small ? side : k->window;
    SrRelativeBiasParams bias = {.num_heads = k->heads,
                                 .window_h = k->window,
                                 .window_w = k->window,
                                 .tokens = window * window};
    Windows windows = {.heads = k->heads,
                       .side = window,
                       .shift_h = small ? 0 : k->shift,
                       .shift_w = small ? 0 : k->shift,
                       .scale = sr_token_scale(p->qk_scale),
                       .qkv_bias = p->qkv_bias};
    sr_builder_push_block(b, "attn", "WindowAttention");
    sr_builder_set_entry(b, "table", "relative_position_bias_table");
    SrNodeId relative = sr_build_n(b, "relative_bias", "relative_position_bias", &bias, NULL, 0);
    x = window_attention(b, p, &windows, x, relative);
    x = sr_token_linear(b, "proj", x, k->dim, true, 0.02);
    x = sr_token_dropout(b, "proj_drop", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Swin *p, const Block *k, SrNodeId x) {
    SrTokenMlp mlp = {.width = (int)(k->dim * p->mlp_ratio), .dropout = p->dropout};
    SrNodeId branch = attention(b, p, k, norm(b, "norm1", x));
    x = sr_token_residual(b, x, branch, k->drop, NULL, 0);
    branch = sr_token_mlp(b, norm(b, "norm2", x), &mlp);
    return sr_token_residual(b, x, branch, k->drop, NULL, 0);
}

// Pads with zeros at the right and bottom to whole patches, by joining windows of one patch to a
// larger map.
static SrNodeId fill_up(SrBuilder *b, const Swin *p, SrNodeId image) {
    SrShape s = sr_build_shape(b, image);
    SrWindowsParams w = {.window_h = p->patch_size, .window_w = p->patch_size};
    w.height = (s.d[1] + p->patch_size - 1) / p->patch_size * p->patch_size;
    w.width = (s.d[2] + p->patch_size - 1) / p->patch_size * p->patch_size;
    if (w.height == s.d[1] && w.width == s.d[2])
        return image;
    image = sr_build(b, "windows", "pad", &w, image);
    w.merge = true;
    image = sr_build(b, "windows", "pad", &w, image);
    return sr_build(b, "permute", "pad", &(SrPermuteParams){.channels = SR_CHANNELS_FIRST}, image);
}

static SrNodeId embed(SrBuilder *b, const Swin *p, SrNodeId image) {
    sr_builder_push_block(b, "patch_embed", "PatchEmbed");
    SrNodeId x = sr_token_patches(b, fill_up(b, p, image), p->patch_size, p->embed_dim, true);
    x = permute(b, SR_CHANNELS_LAST, x);
    x = handed_on(b, p, norm(b, "norm", x));
    sr_builder_pop(b);
    return sr_token_dropout(b, "pos_drop", x, p->dropout);
}

static SrNodeId stage(SrBuilder *b, const Swin *p, int i, int first, SrNodeId x) {
    int side = SR_MAX(p->image_size / p->patch_size >> i, 1);
    sr_builder_push_numbered(b, "BasicLayer", "layers.%d", i);
    x = permute(b, SR_CHANNELS_LAST, x);
    for (int k = 0; k < p->depths.v[i]; k++) {
        Block kind = block_of(p, i, first, k);
        kind.heads = heads_of(p, i);
        if (side <= p->window) {
            kind.window = side;
            kind.shift = 0;
        }
        sr_builder_push_numbered(b, "SwinTransformerBlock", "blocks.%d", k);
        x = block(b, p, &kind, x);
        sr_builder_pop(b);
    }
    sr_build_alias_numbered(b, x, "%d", i); // timm's index: the map before merging
    if (i + 1 < p->depths.n) {
        sr_builder_push_block(b, "downsample", "PatchMerging");
        x = merge(b, p, "cat", x);
        sr_builder_pop(b);
    }
    x = handed_on(b, p, x);
    sr_builder_pop(b);
    return x;
}

static SrStatus build_net(SrBuilder *b, const Swin *p, SrNodeId image, SrTrunkOutput *out) {
    SR_TRY(check(b, p, SUBTREE, heads_of));
    SR_TRY(sr_token_scale_check(b, SUBTREE, p->qk_scale));
    SrNodeId x = embed(b, p, image);
    for (int i = 0, first = 0; i < p->depths.n; first += p->depths.v[i++])
        x = stage(b, p, i, first, x);
    out->tokens = norm(b, "norm", sr_token_flatten(b, "tokens", x));
    SrShape s = sr_build_shape(b, x);
    out->map = sr_build(b, "reshape", "unflatten",
                        &(SrReshapeParams){.d1 = s.d[1], .d2 = s.d[2], .d3 = s.d[3]}, out->tokens);
    out->map = permute(b, SR_CHANNELS_FIRST, out->map);
    sr_build_alias(b, "lastMAP", out->map);
    x = sr_token_mean(b, out->tokens);
    sr_build_alias(b, "lastCLS", x);
    out->pooled = x;
    return sr_builder_status(b);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    return build_net(b, params, in->image, out);
}

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, EMBED_DIM: 8, DEPTHS: [2, 1], NUM_HEADS: [2, 2], WINDOW_SIZE: 3, "
     "DROPOUT_RATE: 0.1}",
     32, 22}};

const SrTrunk sr_trunk_swin_transformer = {
    .name = "swin_transformer",
    .help = "VISSL's Swin transformer",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Swin),
    .build = build,
    .decays_by_name = true,
    .examples = SR_LIST(examples),
};

static SrStatus build_official(SrBuilder *b, const void *params, const SrTrunkInput *in,
                               SrTrunkOutput *out) {
    Swin p = *(const Swin *)params;
    SrShape s = sr_build_shape(b, in->image);
    p.official = true;
    if (s.d[1] != p.image_size || s.d[2] != p.image_size || p.image_size % p.patch_size)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "swin_transformer_official takes images of " SUBTREE
            ".IMAGE_SIZE %d in whole patches of %d, not %d x %d; swin_transformer takes any size",
            p.image_size, p.patch_size, s.d[1], s.d[2]);
    return build_net(b, &p, in->image, out);
}

static const SrTrunkExample official_examples[] = {
    {"{IMAGE_SIZE: 32, EMBED_DIM: 8, DEPTHS: [2, 1], NUM_HEADS: [2, 2], WINDOW_SIZE: 4, "
     "DROPOUT_RATE: 0.1}",
     32, 0}};

const SrTrunk sr_trunk_swin_transformer_official = {
    .name = "swin_transformer_official",
    .help = "The Swin transformer for images of one size",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Swin),
    .build = build_official,
    .decays_by_name = true,
    .examples = SR_LIST(official_examples),
};

// ---- torchvision's trunk

// Adds remarks for the layers' parameters: torchvision's function takes them, so torch.fx lists
// them.
static void parameters(SrBuilder *b, const Block *k) {
    sr_build_parameter_remark(b, "qkv_weight", SR_SHAPE(3 * k->dim, k->dim));
    sr_build_parameter_remark(b, "proj_weight", SR_SHAPE(k->dim, k->dim));
    sr_build_parameter_remark(b, "qkv_bias", SR_SHAPE(3 * k->dim));
    sr_build_parameter_remark(b, "proj_bias", SR_SHAPE(k->dim));
}

// (1, heads, window, window)
static SrNodeId relative_bias(SrBuilder *b, const Swin *p, const Block *k) {
    int side = 2 * p->window - 1;
    SrRelativeBiasParams bias = {
        .num_heads = k->heads, .window_h = p->window, .window_w = p->window};
    sr_build_parameter_remark(b, "relative_position_bias_table", SR_SHAPE(side * side, k->heads));
    sr_builder_set_entry(b, "table", "relative_position_bias_table");
    return sr_build_n(b, "relative_bias", "_get_relative_position_bias", &bias, NULL, 0);
}

// Position bias of version 2: 16 sigmoid(network(offsets)) (arXiv:2111.09883, section 3.3).
static SrNodeId continuous_bias(SrBuilder *b, const Swin *p, const Block *k) {
    SrRelativeCoordsParams coords = {p->window, p->window};
    int side = 2 * p->window - 1;
    SrRelativeBiasParams bias = {
        .num_heads = k->heads, .window_h = p->window, .window_w = p->window};
    bool aside = sr_builder_set_aside(b, true);
    SrNodeId x = sr_build_n(b, "relative_coords", "relative_coords_table", &coords, NULL, 0);
    sr_builder_set_aside(b, aside);
    sr_builder_push_block(b, "cpb_mlp", "Sequential");
    x = sr_token_linear(b, "0", x, 512, true, 0.02);
    x = sr_build(b, "relu", "1", NULL, x);
    x = sr_token_linear(b, "2", x, k->heads, false, 0.02);
    sr_builder_pop(b);
    SrShape table = SR_SHAPE(side * side, k->heads);
    sr_build_remark(b, "view", &table);
    x = sr_build(b, "relative_bias", "_get_relative_position_bias", &bias, x);
    x = sr_build(b, "sigmoid", "sigmoid", NULL, x);
    return sr_build(b, "scale", "mul", &(SrScaleParams){.factor = 16}, x);
}

// Adds torchvision's attention function.  torch.fx lists none of its inner steps; its value is
// that of the projection.
static SrNodeId shifted_attention(SrBuilder *b, const Swin *p, const Block *k, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    Windows windows = {.heads = k->heads,
                       .side = p->window,
                       .shift_h = p->window < s.d[1] ? k->shift : 0,
                       .shift_w = p->window < s.d[2] ? k->shift : 0,
                       .scale = p->v2 ? 1 : 0,
                       .qkv_bias = true};
    sr_builder_push_block(b, "attn", p->v2 ? "ShiftedWindowAttentionV2" : "ShiftedWindowAttention");
    SrNodeId relative = p->v2 ? continuous_bias(b, p, k) : relative_bias(b, p, k);
    parameters(b, k);
    if (p->v2)
        sr_build_parameter_remark(b, "logit_scale", SR_SHAPE(k->heads, 1, 1));
    bool aside = sr_builder_set_aside(b, true);
    x = window_attention(b, p, &windows, x, relative);
    x = sr_token_linear(b, "proj", x, k->dim, true, 0.02);
    x = sr_dropout(b, "dropout", x, p->dropout);
    sr_builder_set_aside(b, aside);
    x = sr_build(b, "identity", "shifted_window_attention", NULL, x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId mlp(SrBuilder *b, const Swin *p, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, "mlp", "MLP");
    x = sr_token_linear(b, "0", x, (int)(dim * p->mlp_ratio), true, 0.02);
    x = sr_build(b, "gelu", "1", NULL, x);
    x = sr_dropout(b, "2", x, p->dropout);
    x = sr_token_linear(b, "3", x, dim, true, 0.02);
    x = sr_dropout(b, "4", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

static SrNodeId residual(SrBuilder *b, const Block *k, SrNodeId x, SrNodeId branch) {
    branch = sr_stochastic_depth(b, "stochastic_depth", branch, k->drop);
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){x, branch}, 2);
}

static SrNodeId torchvision_block(SrBuilder *b, const Swin *p, const Block *k, SrNodeId x) {
    if (p->v2) {
        x = residual(b, k, x, norm(b, "norm1", shifted_attention(b, p, k, x)));
        return residual(b, k, x, norm(b, "norm2", mlp(b, p, x)));
    }
    x = residual(b, k, x, shifted_attention(b, p, k, norm(b, "norm1", x)));
    return residual(b, k, x, mlp(b, p, norm(b, "norm2", x)));
}

static SrNodeId torchvision_embed(SrBuilder *b, const Swin *p, SrNodeId x) {
    sr_builder_push_block(b, "0", "Sequential");
    x = sr_conv_bias(b, "0", x, p->embed_dim, p->patch_size, p->patch_size, 0);
    sr_builder_push_block(b, "1", "Permute");
    x = permute(b, SR_CHANNELS_LAST, x);
    sr_builder_pop(b);
    x = norm(b, "2", x);
    sr_builder_pop(b);
    return x;
}

// Announces timm's index and a name for the output of a stage.
static void announce(SrBuilder *b, int stage, SrNodeId x) {
    bool aside = sr_builder_set_aside(b, true);
    sr_builder_push(b, "stages");
    x = sr_build(b, "permute", "map", &(SrPermuteParams){.channels = SR_CHANNELS_FIRST}, x);
    sr_builder_pop(b);
    sr_builder_set_aside(b, aside);
    sr_build_alias_numbered(b, x, "%d", stage);
    sr_build_alias_numbered(b, x, "res%d", stage + 2);
}

static SrNodeId torchvision_stage(SrBuilder *b, const Swin *p, int i, int first, SrNodeId x) {
    sr_builder_push_numbered(b, "Sequential", "%d", 2 * i + 1);
    for (int k = 0; k < p->depths.v[i]; k++) {
        Block kind = block_of(p, i, first, k);
        sr_builder_push_numbered(b, p->v2 ? "SwinTransformerBlockV2" : "SwinTransformerBlock", "%d",
                                 k);
        x = torchvision_block(b, p, &kind, x);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    return x;
}

static int given_heads(const Swin *p, int stage) { return p->heads.v[stage]; }

static SrStatus build_torchvision(SrBuilder *b, const void *params, const SrTrunkInput *in,
                                  SrTrunkOutput *out) {
    const Swin *p = params;
    SR_TRY(check(b, p, TORCHVISION_SUBTREE, given_heads));
    sr_builder_push_block(b, "features", "Sequential");
    SrNodeId x = torchvision_embed(b, p, in->image), ends[MAX_STAGES];
    for (int i = 0, first = 0; i < p->depths.n; first += p->depths.v[i++]) {
        ends[i] = x = torchvision_stage(b, p, i, first, x);
        if (i + 1 == p->depths.n)
            break;
        sr_builder_push_numbered(b, p->v2 ? "PatchMergingV2" : "PatchMerging", "%d", 2 * i + 2);
        x = merge(b, p, "_patch_merging_pad", x);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    x = norm(b, "norm", x);
    sr_builder_push_block(b, "permute", "Permute");
    out->map = permute(b, SR_CHANNELS_FIRST, x);
    sr_builder_pop(b);
    out->pooled = sr_pool_flatten(b, out->map, "res5avg");
    for (int i = 0; i < p->depths.n; i++)
        announce(b, i, ends[i]);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    *logits = sr_token_linear(b, "head", features->pooled, preset->classes, true, 0.02);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {
    {"swin_t", "{STOCHASTIC_DEPTH: 0.2}", "head", 1000},
    {"swin_s", "{DEPTHS: [2, 2, 18, 2], STOCHASTIC_DEPTH: 0.3}", "head", 1000},
    {"swin_b",
     "{EMBED_DIM: 128, DEPTHS: [2, 2, 18, 2], NUM_HEADS: [4, 8, 16, 32], STOCHASTIC_DEPTH: 0.5}",
     "head", 1000},
    {"swin_v2_t", "{V2: True, WINDOW_SIZE: 8, STOCHASTIC_DEPTH: 0.2}", "head", 1000},
    {"swin_v2_s", "{V2: True, WINDOW_SIZE: 8, DEPTHS: [2, 2, 18, 2], STOCHASTIC_DEPTH: 0.3}",
     "head", 1000},
    {"swin_v2_b",
     "{V2: True, WINDOW_SIZE: 8, EMBED_DIM: 128, DEPTHS: [2, 2, 18, 2], NUM_HEADS: [4, 8, 16, 32], "
     "STOCHASTIC_DEPTH: 0.5}",
     "head", 1000},
};

static const SrTrunkExample torchvision_examples[] = {
    {"{EMBED_DIM: 8, DEPTHS: [2, 1], NUM_HEADS: [2, 2], WINDOW_SIZE: 3, DROPOUT: 0.1}", 32, 20},
    {"{V2: True, EMBED_DIM: 8, DEPTHS: [2, 1], NUM_HEADS: [2, 2], WINDOW_SIZE: 3, "
     "ATTENTION_DROPOUT: 0.1}",
     32, 20}};

const SrTrunk sr_trunk_torchvision_swin = {
    .name = "torchvision_swin",
    .help = "torchvision's Swin transformers, versions 1 and 2",
    .subtree = TORCHVISION_SUBTREE,
    .options = torchvision_options,
    .params_bytes = sizeof(Swin),
    .build = build_torchvision,
    .decays_by_name = true,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(torchvision_examples),
};
