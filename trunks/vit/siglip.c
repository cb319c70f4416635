// The vision transformer of SigLIP (Zhai et al., "Sigmoid loss for language image pre-training",
// arXiv:2303.15343) with timm's names.  It has no class token: a learned query attends to all
// tokens and gives the image's feature (Zhai et al., "Scaling vision transformers",
// arXiv:2106.04560, section 3.2).  MLPs use tanh_gelu.  The text tower is not part of it.
#include "graph/ir/token_blocks.h"
#include "kernels/attention/query_attention.h"
#include "kernels/tokens/select_tokens.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.SIGLIP"
#define EPS 1e-6 // of all norms

typedef struct {
    int image_size, patch_size, layers, heads, hidden_dim, mlp_dim;
} Siglip;

#define FIELD(f) offsetof(Siglip, f)
// clang-format off
static const SrOption options[] = {
    SR_ROW_IMAGE_SIZE("224"),
    SR_ROW_PATCH_SIZE("16"),
    SR_ROWS_LAYERS("12", "12", "768"),
    {"MLP_DIM", SR_OPT_INT, FIELD(mlp_dim), "3072", 1, 1 << 20,
     .help = "Hidden width of the MLPs, that of the pooling included."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

// Repeats the learned query for every image: (N, 1, D).  It takes the place of the images' tokens.
static SrNodeId query(SrBuilder *b, SrNodeId x) {
    SrSelectTokensParams first = {.count = 1};
    x = sr_build(b, "select_tokens", "first", &first, x);
    x = sr_prepend_token(b, "latent", x);
    return sr_build(b, "select_tokens", "expand", &first, x);
}

// Pools tokens by attention, then an MLP: (N, L, D) -> (N, D).
static SrNodeId attention_pool(SrBuilder *b, const Siglip *p, SrNodeId x) {
    SrTokenMlp mlp = {.width = p->mlp_dim, .activation = "tanh_gelu"};
    SrQueryAttentionParams heads = {.num_heads = p->heads};
    sr_builder_push_block(b, "attn_pool", "AttentionPoolLatent");
    SrNodeId q = sr_token_linear(b, "q", query(b, x), p->hidden_dim, true, 0.02);
    SrNodeId kv = sr_token_linear(b, "kv", x, 2 * p->hidden_dim, true, 0.02);
    x = sr_build_n(b, "query_attention", "attention", &heads, (SrNodeId[]){q, kv}, 2);
    x = sr_token_linear(b, "proj", x, p->hidden_dim, true, 0.02);
    x = sr_token_residual(b, x, sr_token_mlp(b, sr_token_norm(b, "norm", x, EPS), &mlp), 0, NULL,
                          0);
    x = sr_first_token(b, x);
    sr_builder_pop(b);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Siglip *p = params;
    SrTokenBlock block = {.num_heads = p->heads,
                          .mlp_width = p->mlp_dim,
                          .eps = EPS,
                          .activation = "tanh_gelu",
                          .last = true};
    SrNodeId raw[SR_TOKEN_MAX_BLOCKS];
    SrTokenFeatures features = {.blocks = p->layers, .raw = raw, .eps = EPS};
    SR_TRY(sr_token_sizes_check(b, SUBTREE, p->hidden_dim, p->heads, p->image_size, p->patch_size));
    SrNodeId x = sr_patch_tokens(b, in->image, p->patch_size, p->hidden_dim, true, &features.grid);
    x = sr_token_positions(b, "pos_embed", x, 0, p->image_size / p->patch_size, &features.grid);
    sr_token_blocks(b, "blocks", x, &block, p->layers, raw);
    sr_token_features(b, &features, out);
    sr_build_alias(b, "lastMAP", out->map);
    out->pooled = attention_pool(b, p, out->tokens);
    return sr_builder_status(b);
}

static int layers(const void *params) { return ((const Siglip *)params)->layers; }

#define BASE(side) "{IMAGE_SIZE: " side "}"
#define LARGE(side) \
    "{NUM_LAYERS: 24, NUM_HEADS: 16, HIDDEN_DIM: 1024, MLP_DIM: 4096, IMAGE_SIZE: " side "}"
#define SO400M(side)                                                                    \
    "{PATCH_SIZE: 14, NUM_LAYERS: 27, NUM_HEADS: 16, HIDDEN_DIM: 1152, MLP_DIM: 4304, " \
    "IMAGE_SIZE: " side "}"
static const SrPreset presets[] = {
    {"siglip_vitb16", BASE("224"), "head", 768},
    {"siglip_vitb16_256", BASE("256"), "head", 768},
    {"siglip_vitb16_384", BASE("384"), "head", 768},
    {"siglip_vitb16_512", BASE("512"), "head", 768},
    {"siglip_vitl16_256", LARGE("256"), "head", 1024},
    {"siglip_vitl16_384", LARGE("384"), "head", 1024},
    {"siglip_so400m14", SO400M("224"), "head", 1152},
    {"siglip_so400m14_384", SO400M("384"), "head", 1152},
};

#define PIXELS(name, side) \
    { name, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, side, SR_FIT_BOTH }
static const SrPresetPixels pixels[] = {
    PIXELS("siglip_vitb16", 224),     PIXELS("siglip_vitb16_256", 256),
    PIXELS("siglip_vitb16_384", 384), PIXELS("siglip_vitb16_512", 512),
    PIXELS("siglip_vitl16_256", 256), PIXELS("siglip_vitl16_384", 384),
    PIXELS("siglip_so400m14", 224),   PIXELS("siglip_so400m14_384", 384),
};

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32}",
     32, 48}};

const SrTrunk sr_trunk_siglip = {
    .name = "siglip",
    .help = "SigLIP's vision transformers",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Siglip),
    .build = build,
    .layers = layers,
    .depth = sr_depth_of_blocks,
    .decays_by_name = true,
    .presets = SR_LIST(presets),
    .pixels = SR_LIST(pixels),
    .classify = sr_token_no_classifier,
    .examples = SR_LIST(examples),
};
