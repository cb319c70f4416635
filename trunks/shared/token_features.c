// Builds VISSL's features of transformers.  Nodes that are not tapped cost nothing, because the
// plan removes them.
#include "trunks/shared/token_features.h"

#include "graph/ir/token_blocks.h"
#include "kernels/basic/concat.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/reshape.h"
#include "kernels/tokens/select_tokens.h"

enum { MAX_BLOCKS = 256 };

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

static SrNodeId class_token(SrBuilder *b, SrNodeId x) {
    SrSelectTokensParams p = {.count = 1, .squeeze = true};
    return sr_build(b, "select_tokens", "getitem", &p, x);
}

static SrNodeId patch_map(SrBuilder *b, const SrTokenFeatures *f, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    SrSelectTokensParams p = {.begin = f->n_prefix, .count = s.d[1] - f->n_prefix};
    if (f->n_prefix > 0)
        x = sr_build(b, "select_tokens", "patches", &p, x);
    x = sr_build(b, "reshape", "unflatten",
                 &(SrReshapeParams){.d1 = f->h, .d2 = f->w, .d3 = s.d[2]}, x);
    return sr_build(b, "permute", "map", &(SrPermuteParams){.channels = SR_CHANNELS_FIRST}, x);
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
        one[i] = class_token(b, f->normed[i]);
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

void sr_token_features(SrBuilder *b, const SrTokenFeatures *f, SrTrunkOutput *out) {
    SrNodeId one[MAX_BLOCKS] = {0}; // (N, D) of each block
    if (f->blocks < 1 || f->blocks > MAX_BLOCKS) {
        sr_builder_fail(b, SR_ERR_CONFIG, "a transformer of %d blocks: expected 1 to %d", f->blocks,
                        MAX_BLOCKS);
        return;
    }
    for (int i = 0; i < f->blocks; i++) {
        alias(b, "BLCK", i, f->normed[i]);
        if (f->h > 0)
            alias(b, "", i, patch_map(b, f, f->raw[i]));
    }
    (f->class_token ? class_features : pooled_features)(b, f, one);
    join_last(b, "concatBLK", NULL, f->normed, f->blocks);
    out->pooled = one[f->blocks - 1];
    out->tokens = f->normed[f->blocks - 1];
    out->n_prefix = f->n_prefix;
    out->n_blocks = SR_MIN(f->blocks, SR_TRUNK_MAX_BLOCKS);
    for (int i = 0; i < out->n_blocks; i++) {
        out->block[i] = f->raw[f->blocks - 1 - i];
        out->normed[i] = f->normed[f->blocks - 1 - i];
    }
    sr_build_alias(b, "lastBLK", out->tokens);
    if (f->h == 0)
        return;
    out->map = patch_map(b, f, out->tokens);
    if (f->class_token)
        sr_build_alias(b, "lastMAP", out->map);
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

// The node "norm" belongs to the last block, so that this one comes first.
void sr_token_norms(SrBuilder *b, const SrNodeId *raw, int blocks, double eps, SrNodeId *normed) {
    for (int i = blocks - 1; i >= 0; i--)
        normed[i] = sr_token_norm(b, "norm", raw[i], eps);
}

SrStatus sr_token_no_classifier(SrBuilder *b, const void *params, const SrPreset *preset,
                                const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params, (void)preset;
    *logits = sr_build(b, "identity", "head", NULL, features->pooled);
    return sr_builder_status(b);
}

SrNodeId sr_token_norm_again(SrBuilder *b, SrNodeId norm, SrNodeId x) {
    if (norm == SR_NO_NODE)
        return norm;
    SrNode like = *sr_graph_at(sr_builder_graph(b), norm);
    return sr_build_bound(b, "layer_norm", "norm", like.params, &x, 1, like.w, like.n_w);
}
