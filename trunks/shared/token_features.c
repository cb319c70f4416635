// Builds tokens of images, and VISSL's features of transformers.  Nodes that are not tapped cost
// nothing, because the plan removes them.
#include "trunks/shared/token_features.h"

#include "graph/ir/token_blocks.h"
#include "kernels/basic/concat.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/reshape.h"
#include "kernels/tokens/add_positions.h"
#include "kernels/tokens/select_tokens.h"

SrNodeId sr_patch_tokens(SrBuilder *b, SrNodeId image, int patch, int dim, bool bias,
                         SrTokenLayout *grid) {
    sr_builder_push_block(b, "patch_embed", "PatchEmbed");
    SrNodeId x = sr_token_patches(b, image, patch, dim, bias);
    SrShape s = sr_build_shape(b, x);
    *grid = (SrTokenLayout){.h = s.d[1], .w = s.d[2]};
    x = sr_token_flatten(b, "flatten", x);
    sr_builder_pop(b);
    return x;
}

SrNodeId sr_prepend_token(SrBuilder *b, const char *entry, SrNodeId x) {
    sr_builder_set_entry(b, "token", entry);
    return sr_build(b, "prepend_token", "cat", NULL, x);
}

SrNodeId sr_token_positions(SrBuilder *b, const char *entry, SrNodeId x, int prefix, int side,
                            const SrTokenLayout *grid) {
    SrAddPositionsParams add = {
        .prefix = prefix, .from_h = side, .from_w = side, .to_h = grid->h, .to_w = grid->w};
    sr_builder_set_entry(b, "positions", entry);
    return sr_build(b, "add_positions", "add", &add, x);
}

SrNodeId sr_first_token(SrBuilder *b, SrNodeId x) {
    SrSelectTokensParams p = {.count = 1, .squeeze = true};
    return sr_build(b, "select_tokens", "getitem", &p, x);
}

SrNodeId sr_token_map(SrBuilder *b, SrNodeId x, int n_prefix, const SrTokenLayout *grid) {
    SrShape s = sr_build_shape(b, x);
    SrSelectTokensParams p = {.begin = n_prefix, .count = s.d[1] - n_prefix};
    if (n_prefix > 0)
        x = sr_build(b, "select_tokens", "patches", &p, x);
    x = sr_build(b, "reshape", "unflatten",
                 &(SrReshapeParams){.d1 = grid->h, .d2 = grid->w, .d3 = s.d[2]}, x);
    return sr_build(b, "permute", "map", &(SrPermuteParams){.channels = SR_CHANNELS_FIRST}, x);
}

static void alias(SrBuilder *b, const char *kind, int i, SrNodeId x) {
    sr_build_alias_numbered(b, x, "%s%d", kind, i);
}

// Concatenates along the last dimension.
static SrNodeId join(SrBuilder *b, SrNodeId first, SrNodeId second) {
    SrNodeId x[2] = {first, second};
    SrConcatParams p = {.dim = sr_build_shape(b, first).rank - 1};
    return sr_build_n(b, "concat", "cat", &p, x, 2);
}

// Announces <kind><n> for all n, the features of the last n blocks, also under another name.
static void join_last(SrBuilder *b, const char *kind, const char *also, const SrNodeId *x,
                      int blocks) {
    SrNodeId joined = x[blocks - 1];
    for (int n = 1; n <= blocks; n++) {
        if (n > 1)
            joined = join(b, x[blocks - n], joined);
        alias(b, kind, n, joined);
        if (also)
            alias(b, also, n, joined);
    }
}

// Concatenates blocks from the last one backwards.
static void stride_pools(SrBuilder *b, const SrNodeId *pool, int blocks) {
    for (int stride = 1; stride <= blocks; stride++) {
        SrNodeId joined = pool[blocks - 1];
        for (int count = 1; (count - 1) * stride < blocks; count++) {
            if (count > 1)
                joined = join(b, joined, pool[blocks - 1 - (count - 1) * stride]);
            sr_build_alias_numbered(b, joined, "stridePOOL_%d_%d", count, stride);
            if (stride == (blocks + count - 1) / count)
                alias(b, "stridePOOL_", count, joined);
        }
    }
}

static void class_features(SrBuilder *b, const SrTokenFeatures *f, SrNodeId *one) {
    for (int i = 0; i < f->blocks; i++) {
        one[i] = sr_first_token(b, f->normed[i]);
        alias(b, "blkCLS", i, one[i]);
    }
    join_last(b, "concatCLS", "CONCAT_CLS", one, f->blocks);
    sr_build_alias(b, "lastCLS", one[f->blocks - 1]);
}

static void pooled_features(SrBuilder *b, const SrTokenFeatures *f, SrNodeId *one) {
    for (int i = 0; i < f->blocks; i++)
        one[i] = sr_token_mean(b, f->normed[i]);
    join_last(b, "concatPOOL", NULL, one, f->blocks);
    stride_pools(b, one, f->blocks);
    sr_build_alias(b, "lastPOOL", one[f->blocks - 1]);
}

// Announces all features of the blocks.  one: (blocks) gets a vector per image of each block.
static void announce(SrBuilder *b, const SrTokenFeatures *f, SrNodeId *one) {
    for (int i = 0; i < f->blocks; i++) {
        alias(b, "BLCK", i, f->normed[i]);
        if (!f->grid.dropped)
            alias(b, "", i, sr_token_map(b, f->raw[i], f->n_prefix, &f->grid));
    }
    (f->class_token ? class_features : pooled_features)(b, f, one);
    join_last(b, "concatBLK", NULL, f->normed, f->blocks);
}

// The node "norm" belongs to the last block, so that this one comes first.
static void add_norms(SrBuilder *b, const SrTokenFeatures *f, SrNodeId *normed) {
    for (int i = f->blocks - 1; i >= 0; i--)
        normed[i] = sr_token_norm(b, "norm", f->raw[i], f->eps);
}

void sr_token_features(SrBuilder *b, const SrTokenFeatures *given, SrTrunkOutput *out) {
    SrTokenFeatures f = *given;
    SrNodeId normed[SR_TOKEN_MAX_BLOCKS], one[SR_TOKEN_MAX_BLOCKS] = {0}; // one: (N, D) of each
    if (f.blocks < 1 || f.blocks > SR_TOKEN_MAX_BLOCKS) {
        sr_builder_fail(b, SR_ERR_CONFIG, "a transformer of %d blocks: expected 1 to %d", f.blocks,
                        SR_TOKEN_MAX_BLOCKS);
        return;
    }
    if (!f.normed) {
        add_norms(b, &f, normed);
        f.normed = normed;
    }
    announce(b, &f, one);
    out->pooled = one[f.blocks - 1];
    out->tokens = f.normed[f.blocks - 1];
    out->n_prefix = f.n_prefix;
    out->grid_h = f.grid.h;
    out->grid_w = f.grid.w;
    out->n_blocks = SR_MIN(f.blocks, SR_TRUNK_MAX_BLOCKS);
    for (int i = 0; i < out->n_blocks; i++) {
        out->block[i] = f.raw[f.blocks - 1 - i];
        out->normed[i] = f.normed[f.blocks - 1 - i];
    }
    sr_build_alias(b, "lastBLK", out->tokens);
    if (f.grid.dropped)
        return;
    out->map = sr_token_map(b, out->tokens, f.n_prefix, &f.grid);
    if (f.class_token)
        sr_build_alias(b, "lastMAP", out->map);
}

SrStatus sr_token_scale_check(SrBuilder *b, const char *subtree, const SrYaml *qk_scale) {
    if (sr_token_scale(qk_scale) < 0)
        return sr_builder_fail(b, SR_ERR_CONFIG, "%s.QK_SCALE must be False or a number above 0",
                               subtree);
    return SR_OK;
}

SrStatus sr_token_sizes_check(SrBuilder *b, const char *subtree, int hidden_dim, int heads,
                              int image_size, int patch_size) {
    if (hidden_dim % heads)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s.HIDDEN_DIM %d must be a multiple of NUM_HEADS %d", subtree,
                               hidden_dim, heads);
    if (image_size < patch_size)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s.IMAGE_SIZE %d is smaller than a patch of %d pixels", subtree,
                               image_size, patch_size);
    return SR_OK;
}

SrStatus sr_token_no_classifier(SrBuilder *b, const void *params, const SrPreset *preset,
                                const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params, (void)preset;
    *logits = sr_build(b, "identity", "head", NULL, features->pooled);
    return sr_builder_status(b);
}

void sr_token_norms_again(SrBuilder *b, SrNodeId last, const SrNodeId *raw, int blocks,
                          SrNodeId *normed) {
    normed[blocks - 1] = last;
    if (last == SR_NO_NODE)
        return;
    SrNode like = *sr_graph_at(sr_builder_graph(b), last);
    for (int i = 0; i + 1 < blocks; i++)
        normed[i] =
            sr_build_bound(b, "layer_norm", "norm", like.params, &raw[i], 1, like.w, like.n_w);
}
