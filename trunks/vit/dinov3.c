// DINOv3's vision transformer (Siméoni et al., "DINOv3", arXiv:2508.10104) with the names of its
// published weights (github.com/facebookresearch/dinov3).  It differs from DINOv2's: positions are
// rotations of queries and keys, so that any grid works; four storage tokens stand between class
// token and patches; keys have no bias; norms have an epsilon of 1e-5; gates are separate layers.
#include <string.h>

#include "graph/ir/token_blocks.h"
#include "kernels/attention/qv_bias.h"
#include "kernels/rotate_positions.h"
#include "kernels/tokens/insert_tokens.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.DINOV3"

typedef struct {
    int patch_size, layers, heads, hidden_dim, mlp_dim, storage_tokens;
    double init_values, drop_path, rope_base;
    bool swiglu, qkv_bias;
} Dinov3;

#define FIELD(f) offsetof(Dinov3, f)
// clang-format off
static const SrOption options[] = {
    SR_ROW_PATCH_SIZE("16"),
    {"NUM_LAYERS", SR_OPT_INT, FIELD(layers), "12", 1, SR_TOKEN_MAX_BLOCKS, .help = "Blocks."},
    {"NUM_HEADS", SR_OPT_INT, FIELD(heads), "6", 1, 1024, .help = "Number of attention heads."},
    {"HIDDEN_DIM", SR_OPT_INT, FIELD(hidden_dim), "384", 1, 65536,
     .help = "Width of a token; a multiple of four times NUM_HEADS."},
    SR_ROW_MLP_DIM("1536"),
    {"SWIGLU", SR_OPT_BOOL, FIELD(swiglu), "False", .help = "Use SwiGLU MLPs: gated by SiLU."},
    {"STORAGE_TOKENS", SR_OPT_INT, FIELD(storage_tokens), "4", 0, 1024,
     .help = "Number of learned tokens between class token and patches."},
    {"QKV_BIAS", SR_OPT_BOOL, FIELD(qkv_bias), "True", .help = "Use a bias for queries and values."},
    {"ROPE_BASE", SR_OPT_FLOAT, FIELD(rope_base), "100", 1, 1e9,
     .help = "Ratio between the longest and the shortest period of the rotations."},
    {"INIT_VALUES", SR_OPT_FLOAT, FIELD(init_values), "1e-5", 0, 1e6,
     .help = "Initial value of the learned factors of branches (LayerScale)."},
    {"DROP_PATH_RATE", SR_OPT_FLOAT, FIELD(drop_path), "0", 0, 0.99,
     .help = "Probability of leaving out a branch (stochastic depth), the same for every block."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-5);
}

static SrNodeId attention(SrBuilder *b, const Dinov3 *p, const SrTokenLayout *grid, bool last,
                          SrNodeId x) {
    SrRotatePositionsParams turn = {.num_heads = p->heads,
                                    .prefix = 1 + p->storage_tokens,
                                    .h = grid->h,
                                    .w = grid->w,
                                    .base = p->rope_base};
    sr_builder_push_block(b, "attn", "SelfAttention");
    x = sr_token_linear(b, "qkv", x, 3 * p->hidden_dim, false, 0.02);
    if (p->qkv_bias) {
        sr_builder_set_entry(b, "bias", "qkv.bias");
        x = sr_build(b, "qv_bias", "masked_bias", &(SrQvBiasParams){.separate = false}, x);
    }
    x = sr_build(b, "rotate_positions", "rope", &turn, x);
    x = sr_token_attention(b, x, &(SrTokenAttention){.num_heads = p->heads, .last = last});
    sr_builder_pop(b);
    return x;
}

// Shazeer, "GLU variants improve transformer", arXiv:2002.05202: w3 (silu(w1 x) w2 x).
static SrNodeId swiglu(SrBuilder *b, const Dinov3 *p, SrNodeId x) {
    sr_builder_push_block(b, "mlp", "SwiGLUFFN");
    SrNodeId gate = sr_token_linear(b, "w1", x, p->mlp_dim, true, 0.02);
    SrNodeId value = sr_token_linear(b, "w2", x, p->mlp_dim, true, 0.02);
    gate = sr_build(b, "silu", "silu", NULL, gate);
    x = sr_build_n(b, "mul", "mul", NULL, (SrNodeId[]){gate, value}, 2);
    x = sr_token_linear(b, "w3", x, p->hidden_dim, true, 0.02);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const Dinov3 *p, const SrTokenLayout *grid, int i, SrNodeId x) {
    SrTokenMlp plain = {.width = p->mlp_dim};
    sr_builder_push_numbered(b, "SelfAttentionBlock", "blocks.%d", i);
    SrNodeId branch = attention(b, p, grid, i + 1 == p->layers, norm(b, "norm1", x));
    x = sr_token_residual(b, x, branch, p->drop_path, "ls1.gamma", p->init_values);
    branch = norm(b, "norm2", x);
    branch = p->swiglu ? swiglu(b, p, branch) : sr_token_mlp(b, branch, &plain);
    x = sr_token_residual(b, x, branch, p->drop_path, "ls2.gamma", p->init_values);
    sr_builder_pop(b);
    return x;
}

// Patches, class token, storage tokens: (N, 1 + storage + h w, D).
static SrNodeId tokens(SrBuilder *b, const Dinov3 *p, const SrTrunkInput *in, SrTokenLayout *grid) {
    SrNodeId x = sr_patch_tokens(b, in->image, p->patch_size, p->hidden_dim, true, grid);
    if (in->mask != SR_NO_NODE) {
        sr_builder_set_entry(b, "token", "mask_token");
        x = sr_build_n(b, "mask_tokens", "where", NULL, (SrNodeId[]){x, in->mask}, 2);
    }
    sr_builder_set_init(b, "token", (SrInit){SR_INIT_NORMAL, 0.02});
    x = sr_prepend_token(b, "cls_token", x);
    if (p->storage_tokens == 0)
        return x;
    sr_builder_set_entry(b, "tokens", "storage_tokens");
    sr_builder_set_init(b, "tokens", (SrInit){SR_INIT_NORMAL, 0.02});
    return sr_build(b, "insert_tokens", "cat",
                    &(SrInsertTokensParams){.at = 1, .count = p->storage_tokens}, x);
}

static SrStatus check(SrBuilder *b, const Dinov3 *p) {
    if (p->hidden_dim % (4 * p->heads))
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE
                               ".HIDDEN_DIM %d must be a multiple of four times NUM_HEADS %d, "
                               "because each axis rotates pairs of numbers",
                               p->hidden_dim, p->heads);
    return SR_OK;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Dinov3 *p = params;
    SrNodeId raw[SR_TOKEN_MAX_BLOCKS];
    SrTokenFeatures features = {.blocks = p->layers,
                                .raw = raw,
                                .eps = 1e-5,
                                .class_token = true,
                                .n_prefix = 1 + p->storage_tokens};
    SR_TRY(check(b, p));
    SrNodeId x = tokens(b, p, in, &features.grid);
    for (int i = 0; i < p->layers; i++)
        raw[i] = x = block(b, p, &features.grid, i, x);
    sr_token_features(b, &features, out);
    return sr_builder_status(b);
}

static int layers(const void *params) { return ((const Dinov3 *)params)->layers; }

static int depth(const char *name, int blocks) {
    if (strstr(name, "storage_tokens") || strstr(name, "mask_token"))
        return 0;
    return sr_depth_of_blocks(name, blocks);
}

#define LARGE "{NUM_LAYERS: 24, NUM_HEADS: 16, HIDDEN_DIM: 1024, MLP_DIM: 4096}"
#define HUGE_PLUS "{NUM_LAYERS: 32, NUM_HEADS: 20, HIDDEN_DIM: 1280, MLP_DIM: 5120, SWIGLU: True}"
#define SEVEN                                                                                   \
    "{NUM_LAYERS: 40, NUM_HEADS: 32, HIDDEN_DIM: 4096, MLP_DIM: 8192, SWIGLU: True, QKV_BIAS: " \
    "False}"
static const SrPreset presets[] = {
    {"dinov3_vits16", "{}", "head", 384},
    {"dinov3_vits16plus", "{SWIGLU: True}", "head", 384},
    {"dinov3_vitb16", "{NUM_HEADS: 12, HIDDEN_DIM: 768, MLP_DIM: 3072}", "head", 768},
    {"dinov3_vitl16", LARGE, "head", 1024},
    {"dinov3_vith16plus", HUGE_PLUS, "head", 1280},
    {"dinov3_vit7b16", SEVEN, "head", 4096},
    {"dinov3_vitl16_sat", LARGE, "head", 1024},
    {"dinov3_vit7b16_sat", SEVEN, "head", 4096},
};

// The models of satellite images.
static const SrPresetPixels pixels[] = {
    {"dinov3_vitl16_sat", {0.430, 0.411, 0.296}, {0.213, 0.156, 0.143}, 224, SR_FIT_MARGIN},
    {"dinov3_vit7b16_sat", {0.430, 0.411, 0.296}, {0.213, 0.156, 0.143}, 224, SR_FIT_MARGIN},
};

static const SrTrunkExample examples[] = {
    {"{PATCH_SIZE: 7, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32}", 28, 14},
    {"{PATCH_SIZE: 7, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 24, STORAGE_TOKENS: 2, "
     "SWIGLU: True, QKV_BIAS: False, INIT_VALUES: 0.5, DROP_PATH_RATE: 0.1}",
     28, 21}};

const SrTrunk sr_trunk_dinov3 = {
    .name = "dinov3",
    .help = "DINOv3's vision transformers, with rotary positions and storage tokens",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Dinov3),
    .flags = SR_TRUNK_TAKES_MASK,
    .build = build,
    .layers = layers,
    .depth = depth,
    .decays_by_name = true,
    .presets = SR_LIST(presets),
    .pixels = SR_LIST(pixels),
    .classify = sr_token_no_classifier,
    .examples = SR_LIST(examples),
};
