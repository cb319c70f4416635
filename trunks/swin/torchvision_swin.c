// torchvision's Swin transformers, version 1 (Liu et al., arXiv:2103.14030) and version 2
// (arXiv:2111.09883), with its nodes, names and initial values.  trunks/swin/swin_transformer.c has
// VISSL's names and padding.

#include "kernels/attention/relative_bias.h"
#include "kernels/basic/linear.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/scale.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/layer_norm.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/swin/window_attention.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.TORCHVISION_SWIN"

enum { MAX_STAGES = 8 };

typedef struct {
    bool v2;
    int patch_size, embed_dim, window;
    SrInts depths, heads;
    double mlp_ratio, dropout, attention_dropout, stochastic_depth;
} Swin;

#define FIELD(f) offsetof(Swin, f)
// clang-format off
static const SrOption options[] = {
    {"V2", SR_OPT_BOOL, FIELD(v2), "False",
     .help = "Version 2: norms after the branches, cosine attention, position biases from a small network."},
    SR_ROW_PATCH_SIZE("4"),
    {"EMBED_DIM", SR_OPT_INT, FIELD(embed_dim), "96", 1, 65536,
     .help = "Number of channels of the first stage; each following stage has twice as many."},
    {"DEPTHS", SR_OPT_INTS, FIELD(depths), "[2, 2, 6, 2]", 1, 1024, .help = "Number of blocks in each stage."},
    {"NUM_HEADS", SR_OPT_INTS, FIELD(heads), "[3, 6, 12, 24]", 1, 1024, .help = "Number of attention heads in each"
     " stage."},
    {"WINDOW_SIZE", SR_OPT_INT, FIELD(window), "7", 2, 1024, .help = "Side of a window in tokens."},
    {"MLP_RATIO", SR_OPT_FLOAT, FIELD(mlp_ratio), "4", 0.01, 64,
     .help = "Hidden width of a block's MLP, as a multiple of its channels."},
    {"DROPOUT", SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99, .help = "Dropout of the attention's output and in the MLP."},
    SR_ROW_ATTENTION_DROPOUT("ATTENTION_DROPOUT"),
    {"STOCHASTIC_DEPTH", SR_OPT_FLOAT, FIELD(stochastic_depth), "0.1", 0, 0.99,
     .help = "Probability of leaving out a branch of the last block; earlier blocks have proportionally less."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

typedef struct {
    int dim, heads;
    bool shifted;
    double drop; // probability of stochastic depth
} Block;

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_build(b, "layer_norm", leaf, &(SrLayerNormParams){.eps = 1e-5}, x);
}

static SrNodeId linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features, bool bias) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, 0.02});
    if (bias)
        sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "linear", leaf,
                    &(SrLinearParams){.out_features = out_features, .bias = bias}, x);
}

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
    x = linear(b, "0", x, 512, true);
    x = sr_build(b, "relu", "1", NULL, x);
    x = linear(b, "2", x, k->heads, false);
    sr_builder_pop(b);
    SrShape table = SR_SHAPE(side * side, k->heads);
    sr_build_remark(b, "view", &table);
    x = sr_build(b, "relative_bias", "_get_relative_position_bias", &bias, x);
    x = sr_build(b, "sigmoid", "sigmoid", NULL, x);
    return sr_build(b, "scale", "mul", &(SrScaleParams){.factor = 16}, x);
}

// Adds torchvision's attention function.  torch.fx lists none of its inner steps; its value is
// that of the projection.
static SrNodeId attention(SrBuilder *b, const Swin *p, const Block *k, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    int shift = k->shifted ? p->window / 2 : 0;
    SrWindowAttention windows = {.heads = k->heads,
                                 .window_h = p->window,
                                 .window_w = p->window,
                                 .shift_h = p->window < s.d[1] ? shift : 0,
                                 .shift_w = p->window < s.d[2] ? shift : 0,
                                 .attention_dropout = p->attention_dropout,
                                 .qkv_bias = true,
                                 .cosine = p->v2};
    sr_builder_push_block(b, "attn", p->v2 ? "ShiftedWindowAttentionV2" : "ShiftedWindowAttention");
    SrNodeId relative = p->v2 ? continuous_bias(b, p, k) : relative_bias(b, p, k);
    parameters(b, k);
    if (p->v2)
        sr_build_parameter_remark(b, "logit_scale", SR_SHAPE(k->heads, 1, 1));
    bool aside = sr_builder_set_aside(b, true);
    x = sr_window_attention(b, &windows, x, relative, (SrInit){SR_INIT_NORMAL, 0.02});
    x = linear(b, "proj", x, k->dim, true);
    x = sr_dropout(b, "dropout", x, p->dropout);
    sr_builder_set_aside(b, aside);
    x = sr_build(b, "identity", "shifted_window_attention", NULL, x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId mlp(SrBuilder *b, const Swin *p, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, "mlp", "MLP");
    x = linear(b, "0", x, (int)(dim * p->mlp_ratio), true);
    x = sr_build(b, "gelu", "1", NULL, x);
    x = sr_dropout(b, "2", x, p->dropout);
    x = linear(b, "3", x, dim, true);
    x = sr_dropout(b, "4", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

static SrNodeId residual(SrBuilder *b, const Block *k, SrNodeId x, SrNodeId branch) {
    branch = sr_stochastic_depth(b, "stochastic_depth", branch, k->drop);
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){x, branch}, 2);
}

static SrNodeId block(SrBuilder *b, const Swin *p, const Block *k, SrNodeId x) {
    if (p->v2) {
        x = residual(b, k, x, norm(b, "norm1", attention(b, p, k, x)));
        return residual(b, k, x, norm(b, "norm2", mlp(b, p, x)));
    }
    x = residual(b, k, x, attention(b, p, k, norm(b, "norm1", x)));
    return residual(b, k, x, mlp(b, p, norm(b, "norm2", x)));
}

static SrNodeId merge(SrBuilder *b, const Swin *p, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    x = sr_build(b, "merge_patches", "_patch_merging_pad", NULL, x);
    if (!p->v2)
        x = norm(b, "norm", x);
    x = linear(b, "reduction", x, 2 * dim, false);
    return p->v2 ? norm(b, "norm", x) : x;
}

static SrNodeId embed(SrBuilder *b, const Swin *p, SrNodeId x) {
    SrConv2dParams conv = {.out_channels = p->embed_dim,
                           .kernel_h = p->patch_size,
                           .stride_h = p->patch_size,
                           .groups = 1,
                           .bias = true};
    sr_builder_push_block(b, "0", "Sequential");
    x = sr_build(b, "conv2d", "0", &conv, x);
    sr_builder_push_block(b, "1", "Permute");
    x = sr_build(b, "permute", "permute", &(SrPermuteParams){.channels = SR_CHANNELS_LAST}, x);
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

static int total(SrInts depths) {
    int sum = 0;
    for (int i = 0; i < depths.n; i++)
        sum += (int)depths.v[i];
    return sum;
}

static SrNodeId stage(SrBuilder *b, const Swin *p, int i, int first, SrNodeId x) {
    for (int k = 0; k < p->depths.v[i]; k++) {
        Block block_of = {.dim = p->embed_dim << i,
                          .heads = (int)p->heads.v[i],
                          .shifted = k % 2 == 1,
                          .drop =
                              p->stochastic_depth * (first + k) / SR_MAX(total(p->depths) - 1, 1)};
        sr_builder_push_numbered(b, p->v2 ? "SwinTransformerBlockV2" : "SwinTransformerBlock", "%d",
                                 k);
        x = block(b, p, &block_of, x);
        sr_builder_pop(b);
    }
    return x;
}

static SrStatus check(SrBuilder *b, const Swin *p) {
    if (p->depths.n != p->heads.n || p->depths.n < 1 || p->depths.n > MAX_STAGES)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".DEPTHS has %d stages and NUM_HEADS %d: expected as many, "
                                       "1 to %d",
                               p->depths.n, p->heads.n, MAX_STAGES);
    for (int i = 0; i < p->heads.n; i++)
        if ((p->embed_dim << i) % p->heads.v[i])
            return sr_builder_fail(b, SR_ERR_CONFIG,
                                   SUBTREE ".NUM_HEADS %d of stage %d does not divide its %d "
                                           "channels",
                                   (int)p->heads.v[i], i, p->embed_dim << i);
    return SR_OK;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Swin *p = params;
    SR_TRY(check(b, p));
    sr_builder_push_block(b, "features", "Sequential");
    SrNodeId x = embed(b, p, in->image), ends[MAX_STAGES];
    for (int i = 0, first = 0; i < p->depths.n; first += (int)p->depths.v[i++]) {
        sr_builder_push_numbered(b, "Sequential", "%d", 2 * i + 1);
        ends[i] = x = stage(b, p, i, first, x);
        sr_builder_pop(b);
        if (i + 1 == p->depths.n)
            break;
        sr_builder_push_numbered(b, p->v2 ? "PatchMergingV2" : "PatchMerging", "%d", 2 * i + 2);
        x = merge(b, p, x);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    x = norm(b, "norm", x);
    sr_builder_push_block(b, "permute", "Permute");
    out->map =
        sr_build(b, "permute", "permute", &(SrPermuteParams){.channels = SR_CHANNELS_FIRST}, x);
    sr_builder_pop(b);
    out->pooled = sr_pool_flatten(b, out->map, "res5avg");
    for (int i = 0; i < p->depths.n; i++)
        announce(b, i, ends[i]);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    *logits = linear(b, "head", features->pooled, preset->classes, true);
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

static const SrTrunkExample examples[] = {
    {"{EMBED_DIM: 8, DEPTHS: [2, 1], NUM_HEADS: [2, 2], WINDOW_SIZE: 3, DROPOUT: 0.1}", 32, 20},
    {"{V2: True, EMBED_DIM: 8, DEPTHS: [2, 1], NUM_HEADS: [2, 2], WINDOW_SIZE: 3, "
     "ATTENTION_DROPOUT: 0.1}",
     32, 20}};

const SrTrunk sr_trunk_torchvision_swin = {
    .name = "torchvision_swin",
    .help = "torchvision's Swin transformers, versions 1 and 2",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Swin),
    .build = build,
    .decays_by_name = true,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
