// MAE (He et al., "Masked autoencoders are scalable vision learners", CVPR 2022,
// arXiv:2111.06377). The trunk sees only a random part of an image's patches, a quarter by
// default.  A small transformer, the decoder, gets the trunk's tokens in their places and a
// learned token for each hidden patch.  It predicts the pixels, and the loss is the mean squared
// error of hidden patches.
//
// The details follow the published code (github.com/facebookresearch/mae).  Positions are sines
// that are not learned, and LayerNorm's epsilon is 1e-6.  norm_pix_loss normalises targets by
// each patch's own mean and unbiased variance.  The decoder's parameters have the published
// names, under loss.heads.decoder.

#include "base/rng.h"
#include "graph/ir/token_blocks.h"
#include "kernels/losses/regression_loss.h"
#include "kernels/norm/standardize.h"
#include "kernels/tokens/gather_tokens.h"
#include "kernels/tokens/mask_weights.h"
#include "kernels/tokens/patch_pixels.h"
#include "kernels/tokens/select_tokens.h"
#include "losses/shared/token_grid.h"

enum { MAX_PATCHES = 1 << 14 };

typedef struct {
    double mask_ratio, mlp_ratio;
    bool norm_pix_loss;
    int patch_size, dim, depth, heads;
} MaeLoss;

#define FIELD(f) offsetof(MaeLoss, f)
static const SrOption options[] = {
    {"mask_ratio", SR_OPT_FLOAT, FIELD(mask_ratio), "0.75", 0.01, 0.99,
     .help = "Share of the patches that are hidden."},
    {"norm_pix_loss", SR_OPT_BOOL, FIELD(norm_pix_loss), "False",
     .help = "Normalise each patch's pixels to mean 0 and variance 1 before they are predicted."},
    {"patch_size", SR_OPT_INT, FIELD(patch_size), "16", 1, 1024,
     .help = "Side of a patch in pixels (inferred from the trunk)."},
    {"decoder_embed_dim", SR_OPT_INT, FIELD(dim), "512", 4, 65536,
     .help = "Width of a token in the decoder."},
    {"decoder_depth", SR_OPT_INT, FIELD(depth), "8", 0, 256,
     .help = "Number of blocks of the decoder."},
    {"decoder_num_heads", SR_OPT_INT, FIELD(heads), "16", 1, 1024,
     .help = "Attention heads of the decoder."},
    {"mlp_ratio", SR_OPT_FLOAT, FIELD(mlp_ratio), "4", 0.01, 64,
     .help = "Hidden width of the decoder's MLPs, as a multiple of decoder_embed_dim."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    MaeLoss p;
    SrTokenGrid grid;
    int batch, keep; // images; visible patches of an image
    int samples;     // of a patch: patch^2 * channels
    uint64_t seed;
    // Inputs: visible (batch, keep), the indices of visible patches; mask (batch, patches), 1
    // where a patch is hidden.
    SrNodeId visible, mask;
} State;

// ---- building

static SrStatus check(SrLossContext *ctx, const State *s) {
    const MaeLoss *p = &s->p;
    if (p->dim % 4 || p->dim % p->heads)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.decoder_embed_dim is %d: expected a multiple of 4 and of "
                               "decoder_num_heads %d",
                               ctx->name, p->dim, p->heads);
    if (s->grid.n > MAX_PATCHES || s->keep < 1 || s->keep == s->grid.n)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.mask_ratio %g leaves %d of %d patches visible; expected at "
                               "least one visible and one hidden patch, and at most %d patches",
                               ctx->name, p->mask_ratio, s->keep, s->grid.n, MAX_PATCHES);
    return sr_builder_status(ctx->builder);
}

// Predicts the pixels of all patches from the tokens of the visible ones:
// (batch, prefix + keep, D) -> (batch, patches, samples).
static SrNodeId decode(SrBuilder *b, const State *s, SrNodeId x) {
    const MaeLoss *p = &s->p;
    int prefix = sr_build_shape(b, x).d[1] - s->keep;
    SrScatterTokensParams scatter = {prefix, s->grid.n};
    sr_builder_push(b, "heads.decoder");
    x = sr_token_linear(b, "decoder_embed", x, p->dim, true, 0.02);
    sr_builder_set_entry(b, "token", "mask_token");
    x = sr_build_n(b, "scatter_tokens", "unshuffle", &scatter, (SrNodeId[]){x, s->visible}, 2);
    x = sr_token_fixed_positions(b, "decoder_pos_embed", x, prefix, s->grid.side);
    SrTokenBlock block = {.num_heads = p->heads, .mlp_width = (int)(p->dim * p->mlp_ratio)};
    x = sr_token_blocks(b, "decoder_blocks", x, &block, p->depth, NULL);
    x = sr_token_norm(b, "decoder_norm", x, 1e-6);
    x = sr_token_linear(b, "decoder_pred", x, s->samples, true, 0.02);
    sr_builder_pop(b);
    return sr_build(b, "select_tokens", "pixels",
                    &(SrSelectTokensParams){.begin = prefix, .count = s->grid.n}, x);
}

static SrNodeId error_of(SrLossContext *ctx, const State *s, SrNodeId pixels) {
    SrBuilder *b = ctx->builder;
    SrStandardizeParams norm = {1e-6, true};
    SrNodeId target = sr_build(b, "patch_pixels", "patches", &(SrPatchPixelsParams){s->grid.patch},
                               sr_loss_view(ctx, 0));
    if (s->p.norm_pix_loss)
        target = sr_build(b, "standardize", "target", &norm, target);
    SrNodeId weights =
        sr_build(b, "mask_weights", "weights", &(SrMaskWeightsParams){SR_MASK_BATCH}, s->mask);
    return sr_build_n(b, "regression_loss", "mse", &(SrRegressionLossParams){0},
                      (SrNodeId[]){pixels, target, weights}, 3);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    SrBuilder *b = ctx->builder;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    SrOutputs outputs;
    SrNodeId tokens;
    SR_TRY(sr_builder_status(b));
    s->p = *(const MaeLoss *)params;
    s->batch = ctx->batch;
    s->seed = ctx->seed;
    SR_TRY(sr_token_grid_one_view(ctx));
    SR_TRY(sr_token_grid(ctx, s->p.patch_size, &s->grid));
    s->keep = (int)(s->grid.n * (1 - s->p.mask_ratio));
    int channels = sr_shape_last(sr_build_shape(b, sr_loss_view(ctx, 0)));
    s->samples = s->grid.patch * s->grid.patch * channels;
    SR_TRY(check(ctx, s));
    s->visible = sr_build_input(b, "visible", SR_SHAPE(s->batch, s->keep), SR_I64);
    s->mask = sr_build_input(b, "mask", SR_SHAPE(s->batch, s->grid.n), SR_F32);
    SrModelRun run = {
        .trainable = true, .no_heads = true, .trunk_outputs = true, .visible = &s->visible};
    SR_TRY(sr_loss_run(ctx, &run, &outputs));
    SR_TRY(sr_token_grid_tokens(ctx, &outputs, &s->grid, &tokens));
    *loss = error_of(ctx, s, decode(b, s, tokens));
    return sr_builder_status(b);
}

// ---- hooks

// Draws a permutation of the patches for each image; the first `keep` patches are visible.
static void before_rows(void *instance, const SrLossStep *step, int64_t first) {
    const State *s = instance;
    int64_t *visible = sr_loss_input(step, s->visible).data; // (batch, keep)
    float *mask = sr_loss_input(step, s->mask).data;         // (batch, patches)
    uint32_t order[MAX_PATCHES];
    for (int64_t i = 0; i < s->batch; i++) {
        SrRng rng =
            sr_rng(s->seed, SR_RNG_TOKENS, (uint64_t)step->iteration, (uint64_t)(first + i), 0, 0);
        sr_rng_permutation(&rng, order, (uint32_t)s->grid.n);
        for (int k = 0; k < s->grid.n; k++)
            mask[i * s->grid.n + order[k]] = k < s->keep ? 0 : 1;
        for (int k = 0; k < s->keep; k++)
            visible[i * s->keep + k] = order[k];
    }
}

// Chance is the loss of a decoder that predicts the mean of every patch.
static void facts(const void *instance, SrLossFacts *out) {
    const State *s = instance;
    int n = s->samples;
    if (s->p.norm_pix_loss)
        out->chance = (double)(n - 1) / n;
}

#define SMALL "decoder_embed_dim: 8, decoder_depth: 1, decoder_num_heads: 2, patch_size: 4"
static const SrLossExample examples[] = {{"{" SMALL "}",
                                          "[[identity, {}]]",
                                          {16},
                                          .may_rise = true, // other patches are hidden every step
                                          .trunk = SR_LOSS_EXAMPLE_VIT},
                                         {"{" SMALL ", norm_pix_loss: True, mask_ratio: 0.5}",
                                          "[[identity, {}]]",
                                          {16},
                                          .may_rise = true,
                                          .trunk = SR_LOSS_EXAMPLE_VIT}};

const SrLoss sr_loss_mae_loss = {
    .name = "mae_loss",
    .help = "MAE: predicts the pixels of hidden patches from the visible ones",
    .subtree = "LOSS.mae_loss",
    .options = options,
    .params_bytes = sizeof(MaeLoss),
    .student_views = SR_NO_STUDENT,
    .rows_are_independent = true,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .infer = sr_infer_patch_size,
    .build = build,
    .before_rows = before_rows,
    .facts = facts,
};
