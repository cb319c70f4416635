// The vision transformer of CLIP (Radford et al., "Learning transferable visual models from natural
// language supervision", arXiv:2103.00020, section 2.4) with timm's names.  It differs from ViT:
// a norm comes before the first block, patches have no bias, and MLPs use quick_gelu.  The text
// tower is not part of it.
#include <string.h>

#include "graph/ir/token_blocks.h"
#include "trunks/shared/depth.h"
#include "trunks/shared/option_rows.h"
#include "trunks/shared/token_features.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.CLIP"
#define EPS 1e-5 // of all norms

typedef struct {
    int image_size, patch_size, layers, heads, hidden_dim, mlp_dim;
    int activation;
} Clip;

enum { QUICK_GELU, GELU };

#define FIELD(f) offsetof(Clip, f)
// clang-format off
static const SrOption options[] = {
    SR_ROW_IMAGE_SIZE("224"),
    SR_ROW_PATCH_SIZE("16"),
    SR_ROWS_LAYERS("12", "12", "768"),
    SR_ROW_MLP_DIM("3072"),
    {"ACTIVATION", SR_OPT_ENUM, FIELD(activation), "quick_gelu", .choices = "quick_gelu|gelu",
     .help = "Activation of the MLPs: OpenAI's models have quick_gelu, those trained on LAION have gelu."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

// Patches, class token, positions and the first norm: (N, 1 + h w, D).
static SrNodeId tokens(SrBuilder *b, const Clip *p, SrNodeId image, SrTokenLayout *grid) {
    SrNodeId x = sr_patch_tokens(b, image, p->patch_size, p->hidden_dim, false, grid);
    x = sr_prepend_token(b, "cls_token", x);
    x = sr_token_positions(b, "pos_embed", x, 1, p->image_size / p->patch_size, grid);
    return sr_token_norm(b, "norm_pre", x, EPS);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Clip *p = params;
    SrTokenBlock block = {.num_heads = p->heads,
                          .mlp_width = p->mlp_dim,
                          .eps = EPS,
                          .activation = p->activation == QUICK_GELU ? "quick_gelu" : "gelu",
                          .last = true};
    SrNodeId raw[SR_TOKEN_MAX_BLOCKS];
    SrTokenFeatures features = {
        .blocks = p->layers, .raw = raw, .eps = EPS, .class_token = true, .n_prefix = 1};
    SR_TRY(sr_token_sizes_check(b, SUBTREE, p->hidden_dim, p->heads, p->image_size, p->patch_size));
    SrNodeId x = tokens(b, p, in->image, &features.grid);
    sr_token_blocks(b, "blocks", x, &block, p->layers, raw);
    sr_token_features(b, &features, out);
    return sr_builder_status(b);
}

static int layers(const void *params) { return ((const Clip *)params)->layers; }

static int depth(const char *name, int blocks) {
    return strstr(name, "norm_pre") ? 0 : sr_depth_of_blocks(name, blocks);
}

// The projection to the space that images and texts share has no bias.
static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    *logits =
        sr_token_linear(b, preset->classifier, features->pooled, preset->classes, false, 0.02);
    return sr_builder_status(b);
}

#define LARGE "PATCH_SIZE: 14, NUM_LAYERS: 24, NUM_HEADS: 16, HIDDEN_DIM: 1024, MLP_DIM: 4096"
static const SrPreset presets[] = {
    {"clip_vitb32", "{PATCH_SIZE: 32}", "head", 512},
    {"clip_vitb16", "{}", "head", 512},
    {"clip_vitl14", "{" LARGE "}", "head", 768},
    {"clip_vitl14_336", "{" LARGE ", IMAGE_SIZE: 336}", "head", 768},
};

#define PIXELS(name, side)                                                                     \
    {                                                                                          \
        name, {0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}, side, \
            SR_FIT_SHORTER                                                                     \
    }
static const SrPresetPixels pixels[] = {
    PIXELS("clip_vitb32", 224),
    PIXELS("clip_vitb16", 224),
    PIXELS("clip_vitl14", 224),
    PIXELS("clip_vitl14_336", 336),
};

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32}",
     32, 48}};

const SrTrunk sr_trunk_clip = {
    .name = "clip",
    .help = "CLIP's vision transformers",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Clip),
    .build = build,
    .layers = layers,
    .depth = depth,
    .decays_by_name = true,
    .presets = SR_LIST(presets),
    .pixels = SR_LIST(pixels),
    .classify = classify,
    .examples = SR_LIST(examples),
};
