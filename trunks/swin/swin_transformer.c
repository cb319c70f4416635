// The Swin transformer (Liu et al., arXiv:2103.14030) with VISSL's keys and names
// (vissl/models/trunks/swin_transformer.py).  trunks/swin/torchvision_swin.c has torchvision's
// names.
//
// Images may have any size: zeros fill them up to whole patches, and maps to whole windows.  A
// map no larger than a window is one smaller window without shift.  VISSL then uses the first
// rows and columns of the larger window's biases, token by token, and so does this trunk.

#include "trunks/swin/swin_transformer.h"
#include "graph/ir/token_blocks.h"
#include "kernels/attention/relative_bias.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/reshape.h"
#include "kernels/tokens/windows.h"
#include "trunks/shared/option_rows.h"
#include "trunks/swin/window_attention.h"

#define SUBTREE SR_SWIN_TRANSFORMER

enum { MAX_STAGES = 8 };

#define FIELD(f) offsetof(SrSwin, f)
// clang-format off
const SrOption sr_swin_options[] = {
    {"IMAGE_SIZE", SR_OPT_INT, FIELD(image_size), "224", 1, 65535,
     .help = "Side in pixels of the images that windows are made for; other sizes are padded with zeros."},
    SR_ROW_PATCH_SIZE("4"),
    {"EMBED_DIM", SR_OPT_INT, FIELD(embed_dim), "96", 1, 65536,
     .help = "Number of channels of the first stage; each following stage has twice as many."},
    {"DEPTHS", SR_OPT_INTS, FIELD(depths), "[2, 2, 6, 2]", 1, 1024, .help = "Number of blocks in each stage."},
    {"NUM_HEADS", SR_OPT_INTS, FIELD(heads), "[3, 6, 12, 24]", 1, 1024, .help = "Number of attention heads in each"
     " stage."},
    {"WINDOW_SIZE", SR_OPT_INT, FIELD(window), "7", 1, 1024, .help = "Side of a window in tokens."},
    {"MLP_RATIO", SR_OPT_FLOAT, FIELD(mlp_ratio), "4", 0.01, 64,
     .help = "Hidden width of a block's MLP, as a multiple of its channels."},
    SR_ROW_TOKEN_DROPOUT("DROPOUT_RATE"),
    SR_ROW_ATTENTION_DROPOUT("ATTENTION_DROPOUT_RATE"),
    SR_ROW_DROP_PATH("DROP_PATH_RATE", "0.1"),
    SR_ROW_QKV_BIAS("True"),
    SR_ROW_QK_SCALE,
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

// Settings of the blocks of one stage, independent of the image's size.
typedef struct {
    int dim, heads;
    int window; // side of the window that the biases were made for
    int shift;
    double drop;
} Block;

static SrNodeId norm(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_token_norm(b, leaf, x, 1e-5);
}

// Modules pass maps with channels first; inside a module, channels are last.
static SrNodeId seen(SrBuilder *b, SrChannels channels, SrNodeId x) {
    return sr_build(b, "permute", "permute", &(SrPermuteParams){.channels = channels}, x);
}

// Converts between the layout inside stages and the layout between them.
static SrNodeId handed_on(SrBuilder *b, const SrSwin *p, SrNodeId x) {
    return seen(b, p->official ? SR_CHANNELS_LAST : SR_CHANNELS_FIRST, x);
}

static SrNodeId attention(SrBuilder *b, const SrSwin *p, const Block *k, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    int side = SR_MIN(s.d[1], s.d[2]);
    bool small = side <= k->window;
    int window = small ? side : k->window;
    SrRelativeBiasParams bias = {.num_heads = k->heads,
                                 .window_h = k->window,
                                 .window_w = k->window,
                                 .tokens = window * window};
    SrWindowAttention windows = {.heads = k->heads,
                                 .window_h = window,
                                 .window_w = window,
                                 .shift_h = small ? 0 : k->shift,
                                 .shift_w = small ? 0 : k->shift,
                                 .scale = sr_token_scale(p->qk_scale),
                                 .attention_dropout = p->attention_dropout,
                                 .qkv_bias = p->qkv_bias};
    sr_builder_push_block(b, "attn", "WindowAttention");
    sr_builder_set_entry(b, "table", "relative_position_bias_table");
    SrNodeId relative = sr_build_n(b, "relative_bias", "relative_position_bias", &bias, NULL, 0);
    x = sr_window_attention(b, &windows, x, relative, (SrInit){SR_INIT_NORMAL, 0.02});
    x = sr_token_linear(b, "proj", x, k->dim, true, 0.02);
    x = sr_token_dropout(b, "proj_drop", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, const SrSwin *p, const Block *k, SrNodeId x) {
    SrTokenMlp mlp = {.width = (int)(k->dim * p->mlp_ratio), .dropout = p->dropout};
    SrNodeId branch = attention(b, p, k, norm(b, "norm1", x));
    x = sr_token_residual(b, x, branch, k->drop, NULL, 0);
    branch = sr_token_mlp(b, norm(b, "norm2", x), &mlp);
    return sr_token_residual(b, x, branch, k->drop, NULL, 0);
}

// Pads with zeros at the right and bottom to whole patches, by joining windows of one patch to a
// larger map.
static SrNodeId fill_up(SrBuilder *b, const SrSwin *p, SrNodeId image) {
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

static SrNodeId embed(SrBuilder *b, const SrSwin *p, SrNodeId image) {
    sr_builder_push_block(b, "patch_embed", "PatchEmbed");
    SrNodeId x = sr_token_patches(b, fill_up(b, p, image), p->patch_size, p->embed_dim, true);
    x = seen(b, SR_CHANNELS_LAST, x);
    x = handed_on(b, p, norm(b, "norm", x));
    sr_builder_pop(b);
    return sr_token_dropout(b, "pos_drop", x, p->dropout);
}

static SrNodeId merge(SrBuilder *b, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, "downsample", "PatchMerging");
    x = sr_build(b, "merge_patches", "cat", NULL, x);
    x = sr_token_linear(b, "reduction", norm(b, "norm", x), 2 * dim, false, 0.02);
    sr_builder_pop(b);
    return x;
}

// VISSL's swint_base keeps the tiny net's NUM_HEADS, which do not divide its channels, and fails
// in its first forward pass.  Heads have 32 channels here, as in every size of the paper.
static int heads_of(const SrSwin *p, int stage) {
    int dim = p->embed_dim << stage;
    return dim % p->heads.v[stage] && dim % 32 == 0 ? dim / 32 : p->heads.v[stage];
}

static int total(SrInts depths) {
    int sum = 0;
    for (int i = 0; i < depths.n; i++)
        sum += depths.v[i];
    return sum;
}

static SrNodeId stage(SrBuilder *b, const SrSwin *p, int i, int first, SrNodeId x) {
    int side = SR_MAX(p->image_size / p->patch_size >> i, 1), blocks = total(p->depths);
    bool small = side <= p->window;
    sr_builder_push_numbered(b, "BasicLayer", "layers.%d", i);
    x = seen(b, SR_CHANNELS_LAST, x);
    for (int k = 0; k < p->depths.v[i]; k++) {
        Block kind = {.dim = p->embed_dim << i,
                      .heads = heads_of(p, i),
                      .window = small ? side : p->window,
                      .shift = small || k % 2 == 0 ? 0 : p->window / 2,
                      .drop = blocks > 1 ? p->drop_path * (first + k) / (blocks - 1) : 0};
        sr_builder_push_numbered(b, "SwinTransformerBlock", "blocks.%d", k);
        x = block(b, p, &kind, x);
        sr_builder_pop(b);
    }
    sr_build_alias_numbered(b, x, "%d", i); // timm's index: the map before merging
    if (i + 1 < p->depths.n)
        x = merge(b, x);
    x = handed_on(b, p, x);
    sr_builder_pop(b);
    return x;
}

static SrStatus check(SrBuilder *b, const SrSwin *p) {
    if (p->depths.n != p->heads.n || p->depths.n < 1 || p->depths.n > MAX_STAGES)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".DEPTHS has %d stages and NUM_HEADS %d: expected as many, "
                                       "1 to %d",
                               p->depths.n, p->heads.n, MAX_STAGES);
    for (int i = 0; i < p->heads.n; i++)
        if ((p->embed_dim << i) % heads_of(p, i))
            return sr_builder_fail(b, SR_ERR_CONFIG,
                                   SUBTREE ".NUM_HEADS %d of stage %d does not divide its %d "
                                           "channels",
                                   p->heads.v[i], i, p->embed_dim << i);
    if (sr_token_scale(p->qk_scale) < 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".QK_SCALE must be False or a number above 0");
    return SR_OK;
}

SrStatus sr_swin_build(SrBuilder *b, const SrSwin *p, SrNodeId image, SrTrunkOutput *out) {
    SR_TRY(check(b, p));
    SrNodeId x = embed(b, p, image);
    for (int i = 0, first = 0; i < p->depths.n; first += p->depths.v[i++])
        x = stage(b, p, i, first, x);
    out->tokens = norm(b, "norm", sr_token_flatten(b, "tokens", x));
    SrShape s = sr_build_shape(b, x);
    out->map = sr_build(b, "reshape", "unflatten",
                        &(SrReshapeParams){.d1 = s.d[1], .d2 = s.d[2], .d3 = s.d[3]}, out->tokens);
    out->map = seen(b, SR_CHANNELS_FIRST, out->map);
    sr_build_alias(b, "lastMAP", out->map);
    x = sr_token_mean(b, out->tokens);
    sr_build_alias(b, "lastCLS", x);
    out->pooled = x;
    return sr_builder_status(b);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    return sr_swin_build(b, params, in->image, out);
}

static const SrTrunkExample examples[] = {
    {"{IMAGE_SIZE: 32, EMBED_DIM: 8, DEPTHS: [2, 1], NUM_HEADS: [2, 2], WINDOW_SIZE: 3, "
     "DROPOUT_RATE: 0.1}",
     32, 22}};

const SrTrunk sr_trunk_swin_transformer = {
    .name = "swin_transformer",
    .help = "VISSL's Swin transformer",
    .subtree = SUBTREE,
    .options = sr_swin_options,
    .params_bytes = sizeof(SrSwin),
    .build = build,
    .decays_by_name = true,
    .examples = SR_LIST(examples),
};
