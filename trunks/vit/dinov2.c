// DINOv2's vision transformer (Oquab et al., "DINOv2", arXiv:2304.07193; registers: Darcet et
// al., arXiv:2309.16588) with the names of its published weights
// (github.com/facebookresearch/dinov2, dinov2/models/vision_transformer.py).  It has layer scale,
// patches of 14 pixels, a gated MLP in the largest model, and registers between class token and
// patches.
//
// Positions are learned for images of 518 pixels.  Other sizes resample them like the source:
// with an offset of 0.1, or with a filter in models with registers.
#include <string.h>

#include "graph/ir/token_blocks.h"
#include "kernels/tokens/add_positions.h"
#include "kernels/tokens/gather_tokens.h"
#include "kernels/tokens/insert_tokens.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.DINOV2"

typedef struct {
    int image_size, patch_size, layers, heads, hidden_dim, registers;
    double mlp_ratio, init_values, drop_path, offset;
    bool swiglu, antialias;
} Dinov2;

#define FIELD(f) offsetof(Dinov2, f)
// clang-format off
static const SrOption options[] = {
    SR_ROW_IMAGE_SIZE("518"),
    SR_ROW_PATCH_SIZE("14"),
    SR_ROWS_LAYERS("12", "12", "768"),
    SR_ROW_MLP_RATIO,
    {"SWIGLU", SR_OPT_BOOL, FIELD(swiglu), "False",
     .help = "Use SwiGLU MLPs: gated by SiLU, with 2/3 of the hidden width, rounded up to a multiple of 8."},
    {"REGISTERS", SR_OPT_INT, FIELD(registers), "0", 0, 1024,
     .help = "Number of register tokens between class token and patches."},
    {"INIT_VALUES", SR_OPT_FLOAT, FIELD(init_values), "1.0", 0, 1e6,
     .help = "Initial value of the learned factors of branches (LayerScale)."},
    {"DROP_PATH_RATE", SR_OPT_FLOAT, FIELD(drop_path), "0", 0, 0.99,
     .help = "Probability of leaving out a branch (stochastic depth), the same for every block."},
    {"INTERPOLATE_OFFSET", SR_OPT_FLOAT, FIELD(offset), "0.1", 0, 1,
     .help = "Offset added to the grid's size when position embeddings are resampled."},
    {"INTERPOLATE_ANTIALIAS", SR_OPT_BOOL, FIELD(antialias), "False",
     .help = "Filter position embeddings against aliasing when they are resampled; needs INTERPOLATE_OFFSET 0."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-6);
}

static SrNodeId attention(SrBuilder *b, const Dinov2 *p, bool last, SrNodeId x) {
    sr_builder_push_block(b, "attn", "MemEffAttention");
    x = sr_token_linear(b, "qkv", x, 3 * p->hidden_dim, true, 0.02);
    x = sr_token_attention(b, x, &(SrTokenAttention){.num_heads = p->heads, .last = last});
    sr_builder_pop(b);
    return x;
}

// Shazeer, "GLU variants improve transformer", arXiv:2002.05202: w3 (silu(a) b), where a and b
// are the halves of w12 x.
static SrNodeId swiglu(SrBuilder *b, const Dinov2 *p, SrNodeId x) {
    int width = ((int)(p->hidden_dim * p->mlp_ratio) * 2 / 3 + 7) / 8 * 8;
    sr_builder_push_block(b, "mlp", "SwiGLUFFN");
    x = sr_token_linear(b, "w12", x, 2 * width, true, 0.02);
    x = sr_build(b, "gate_halves", "silu", NULL, x);
    x = sr_token_linear(b, "w3", x, p->hidden_dim, true, 0.02);
    sr_builder_pop(b);
    return x;
}

static SrNodeId mlp(SrBuilder *b, const Dinov2 *p, SrNodeId x) {
    SrTokenMlp plain = {.width = (int)(p->hidden_dim * p->mlp_ratio)};
    return p->swiglu ? swiglu(b, p, x) : sr_token_mlp(b, x, &plain);
}

static SrNodeId block(SrBuilder *b, const Dinov2 *p, int i, SrNodeId x) {
    sr_builder_push_numbered(b, "NestedTensorBlock", "blocks.%d", i);
    SrNodeId branch = attention(b, p, i + 1 == p->layers, norm(b, "norm1", x));
    x = sr_token_residual(b, x, branch, p->drop_path, "ls1.gamma", p->init_values);
    branch = mlp(b, p, norm(b, "norm2", x));
    x = sr_token_residual(b, x, branch, p->drop_path, "ls2.gamma", p->init_values);
    sr_builder_pop(b);
    return x;
}

static SrNodeId hide(SrBuilder *b, SrNodeId x, SrNodeId mask) {
    sr_builder_set_entry(b, "token", "mask_token");
    return sr_build_n(b, "mask_tokens", "where", NULL, (SrNodeId[]){x, mask}, 2);
}

// Drops hidden patches like vision_transformer; registers are added later and stay.
static SrNodeId keep_visible(SrBuilder *b, SrNodeId x, SrNodeId visible, SrTokenLayout *grid) {
    grid->dropped = true;
    return sr_build_n(b, "gather_tokens", "gather", &(SrGatherTokensParams){1},
                      (SrNodeId[]){x, visible}, 2);
}

// Patches, class token, positions, registers: (N, 1 + registers + h w, D).
static SrNodeId tokens(SrBuilder *b, const Dinov2 *p, const SrTrunkInput *in, SrTokenLayout *grid) {
    int side = p->image_size / p->patch_size;
    SrNodeId x = sr_patch_tokens(b, in->image, p->patch_size, p->hidden_dim, true, grid);
    if (in->mask != SR_NO_NODE)
        x = hide(b, x, in->mask);
    sr_builder_set_init(b, "token", (SrInit){SR_INIT_NORMAL, 1e-6});
    x = sr_prepend_token(b, "cls_token", x);
    SrAddPositionsParams add = {.prefix = 1,
                                .from_h = side,
                                .from_w = side,
                                .to_h = grid->h,
                                .to_w = grid->w,
                                .antialias = p->antialias,
                                .offset = p->offset};
    sr_builder_set_entry(b, "positions", "pos_embed");
    x = sr_build(b, "add_positions", "add", &add, x);
    if (in->visible)
        x = keep_visible(b, x, *in->visible, grid);
    if (p->registers == 0)
        return x;
    sr_builder_set_entry(b, "tokens", "register_tokens");
    return sr_build(b, "insert_tokens", "cat",
                    &(SrInsertTokensParams){.at = 1, .count = p->registers}, x);
}

static SrStatus check(SrBuilder *b, const Dinov2 *p) {
    SR_TRY(sr_token_sizes_check(b, SUBTREE, p->hidden_dim, p->heads, p->image_size, p->patch_size));
    if (p->antialias && p->offset > 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".INTERPOLATE_OFFSET must be 0 with INTERPOLATE_ANTIALIAS");
    return SR_OK;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Dinov2 *p = params;
    SrNodeId raw[SR_TOKEN_MAX_BLOCKS];
    SrTokenFeatures features = {.blocks = p->layers,
                                .raw = raw,
                                .eps = 1e-6,
                                .class_token = true,
                                .n_prefix = 1 + p->registers};
    SR_TRY(check(b, p));
    SrNodeId x = tokens(b, p, in, &features.grid);
    for (int i = 0; i < p->layers; i++)
        raw[i] = x = block(b, p, i, x);
    sr_token_features(b, &features, out);
    return sr_builder_status(b);
}

static int layers(const void *params) { return ((const Dinov2 *)params)->layers; }

static int depth(const char *name, int blocks) {
    if (strstr(name, "register_tokens") || strstr(name, "mask_token"))
        return 0;
    return sr_depth_of_blocks(name, blocks);
}

#define REGISTERS ", REGISTERS: 4, INTERPOLATE_OFFSET: 0, INTERPOLATE_ANTIALIAS: True}"
#define SMALL "{NUM_HEADS: 6, HIDDEN_DIM: 384"
#define LARGE "{NUM_LAYERS: 24, NUM_HEADS: 16, HIDDEN_DIM: 1024"
#define GIANT "{NUM_LAYERS: 40, NUM_HEADS: 24, HIDDEN_DIM: 1536, SWIGLU: True"
static const SrPreset presets[] = {
    {"dinov2_vits14", SMALL "}", "head", 384},
    {"dinov2_vitb14", "{}", "head", 768},
    {"dinov2_vitl14", LARGE "}", "head", 1024},
    {"dinov2_vitg14", GIANT "}", "head", 1536},
    {"dinov2_vits14_reg", SMALL REGISTERS, "head", 384},
    {"dinov2_vitb14_reg", "{NUM_LAYERS: 12" REGISTERS, "head", 768},
    {"dinov2_vitl14_reg", LARGE REGISTERS, "head", 1024},
    {"dinov2_vitg14_reg", GIANT REGISTERS, "head", 1536},
};

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 28, PATCH_SIZE: 7, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_RATIO: 2, "
     "REGISTERS: 2, INTERPOLATE_OFFSET: 0, INTERPOLATE_ANTIALIAS: True}",
     28, 14},
    {"{IMAGE_SIZE: 28, PATCH_SIZE: 7, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_RATIO: 2, "
     "SWIGLU: True, DROP_PATH_RATE: 0.1}",
     28, 21}};

const SrTrunk sr_trunk_dinov2 = {
    .name = "dinov2",
    .help = "DINOv2's vision transformers, with registers or without",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Dinov2),
    .flags = SR_TRUNK_TAKES_MASK | SR_TRUNK_TAKES_VISIBLE,
    .build = build,
    .layers = layers,
    .depth = depth,
    .decays_by_name = true,
    .presets = SR_LIST(presets),
    .classify = sr_token_no_classifier,
    .examples = SR_LIST(examples),
};
