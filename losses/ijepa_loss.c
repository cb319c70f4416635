// I-JEPA (Assran et al., "Self-supervised learning from images with a joint-embedding predictive
// architecture", CVPR 2023, arXiv:2301.08243).  The trunk sees a part of an image's patches, the
// context.  A small transformer, the predictor, gets the context's tokens and a learned token at
// each place of a target block.  It predicts the block's features, which a teacher with momentum
// computes from the whole image.  The method needs no crops, no colour jitter and no negatives.
//
// The loss follows the published code (github.com/facebookresearch/ijepa):
//   * An image has several target blocks, and each is predicted on its own.
//   * Targets are normalised over features without weights, and compared by smooth L1.
//   * The momentum grows linearly from the first to the second number of `ema`.
//   * Block sizes are drawn once per step, places once per image.
//
// The published code cuts context and targets to the smallest number of patches in the batch.
// Here the numbers are the same at every step, and the patches that stay are drawn at random.  No
// side of the image is preferred that way.
#include <math.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "base/text/json.h"
#include "graph/ir/token_blocks.h"
#include "kernels/losses/regression_loss.h"
#include "kernels/norm/standardize.h"
#include "kernels/tokens/gather_tokens.h"
#include "kernels/tokens/select_tokens.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/token_grid.h"

#define PREFIX "loss.momentum_encoder."

enum { MAX_PATCHES = 1 << 12, TRIES = 20 };

typedef struct {
    int patch_size, dim, depth, heads, blocks;
    double keep, mlp_ratio;
    SrDoubles ema, enc_scale, pred_scale, aspect;
} IjepaLoss;

#define FIELD(f) offsetof(IjepaLoss, f)
// clang-format off
static const SrOption options[] = {
    {"patch_size", SR_OPT_INT, FIELD(patch_size), "16", 1, 1024, .help = "Side of a patch in pixels (inferred from the trunk)."},
    {"pred_emb_dim", SR_OPT_INT, FIELD(dim), "384", 4, 65536, .help = "Width of a token in the predictor."},
    {"pred_depth", SR_OPT_INT, FIELD(depth), "12", 0, 256, .help = "Number of blocks of the predictor."},
    {"pred_num_heads", SR_OPT_INT, FIELD(heads), "12", 1, 1024, .help = "Attention heads of the predictor."},
    {"pred_mlp_ratio", SR_OPT_FLOAT, FIELD(mlp_ratio), "4", 0.01, 64,
     .help = "Hidden width of the predictor's MLPs, as a multiple of pred_emb_dim."},
    {"num_pred_masks", SR_OPT_INT, FIELD(blocks), "4", 1, 64, .help = "Target blocks per image."},
    {"pred_mask_scale", SR_OPT_FLOATS, FIELD(pred_scale), "[0.15, 0.2]", 0.001, 1,
     .help = "Area of a target block, as a share of the image: lowest, highest."},
    {"aspect_ratio", SR_OPT_FLOATS, FIELD(aspect), "[0.75, 1.5]", 0.01, 100,
     .help = "Height / width of a target block: lowest, highest."},
    {"enc_mask_scale", SR_OPT_FLOATS, FIELD(enc_scale), "[0.85, 1.0]", 0.001, 1,
     .help = "Area of the square that the context is taken from, as a share of the image: lowest, highest."},
    {"enc_keep", SR_OPT_FLOAT, FIELD(keep), "0.25", 0.001, 1,
     .help = "Share of the image's patches that are context; they lie in that square and no target covers them."},
    {"ema", SR_OPT_FLOATS, FIELD(ema), "[0.996, 1.0]", 0, 1,
     .help = "Share of its weights that the target encoder keeps per step: at the start, at the end."},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

typedef struct {
    SrMomentumEncoder encoder; // first, for sr_momentum_encoder_start
    IjepaLoss p;
    SrTokenGrid grid;
    int batch, context, target; // images; patches of a context; predicted patches of a block
    uint64_t seed;
    // Inputs of patch indices: visible (batch, context); targets (blocks * batch, target),
    // block-major; places (blocks * batch, context + target), the context of the image and then
    // the target.
    SrNodeId visible, targets, places;
} State;

// ---- blocks

typedef struct {
    int h, w;
} Size;

// Rounds as the published code does, and keeps each side smaller than the image's.
static Size size_of(const SrTokenGrid *grid, double scale, double aspect) {
    double area = floor(grid->n * scale);
    int h = (int)nearbyint(sqrt(area * aspect)), w = (int)nearbyint(sqrt(area / aspect));
    int most = SR_MAX(grid->side - 1, 1);
    return (Size){SR_MAX(SR_MIN(h, most), 1), SR_MAX(SR_MIN(w, most), 1)};
}

// Finds the smallest and the largest number of patches that a target block can have, on a grid of
// scales and aspect ratios.
static void range_of(const State *s, int *fewest, int *most) {
    enum { STEPS = 64 };
    *fewest = s->grid.n;
    *most = 0;
    for (int i = 0; i <= STEPS * STEPS; i++) {
        double u = (double)(i / STEPS) / STEPS, v = (double)(i % STEPS) / (STEPS - 1);
        const double *scale = s->p.pred_scale.v, *aspect = s->p.aspect.v;
        Size size = size_of(&s->grid, scale[0] + u * (scale[1] - scale[0]),
                            aspect[0] + v * (aspect[1] - aspect[0]));
        *fewest = SR_MIN(*fewest, size.h * size.w);
        *most = SR_MAX(*most, size.h * size.w);
    }
}

// ---- building

static SrStatus check_pair(SrLossContext *ctx, const char *key, SrDoubles pair) {
    if (pair.n == 2 && pair.v[0] <= pair.v[1])
        return sr_builder_status(ctx->builder);
    return sr_builder_fail(
        ctx->builder, SR_ERR_CONFIG,
        "LOSS.%s.%s: expected two numbers, of which the first is not above the second", ctx->name,
        key);
}

static SrStatus check(SrLossContext *ctx, State *s) {
    const IjepaLoss *p = &s->p;
    int most;
    SR_TRY(check_pair(ctx, "pred_mask_scale", p->pred_scale));
    SR_TRY(check_pair(ctx, "enc_mask_scale", p->enc_scale));
    SR_TRY(check_pair(ctx, "aspect_ratio", p->aspect));
    SR_TRY(check_pair(ctx, "ema", p->ema));
    if (p->dim % 4 || p->dim % p->heads)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.pred_emb_dim is %d: expected a multiple of 4 and of "
                               "pred_num_heads %d",
                               ctx->name, p->dim, p->heads);
    range_of(s, &s->target, &most);
    s->context = SR_MAX((int)(s->grid.n * p->keep), 1);
    if (s->grid.n > MAX_PATCHES || p->blocks * most >= s->grid.n)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "LOSS.%s: %d blocks (num_pred_masks) of up to %d patches (pred_mask_scale) leave too "
            "few patches for a context: %d are needed, at most %d are possible; lower "
            "num_pred_masks or pred_mask_scale",
            ctx->name, p->blocks, most, s->grid.n, MAX_PATCHES);
    return sr_builder_status(ctx->builder);
}

static void build_inputs(SrBuilder *b, State *s) {
    int rows = s->p.blocks * s->batch;
    s->visible = sr_build_input(b, "visible", SR_SHAPE(s->batch, s->context), SR_I64);
    s->targets = sr_build_input(b, "targets", SR_SHAPE(rows, s->target), SR_I64);
    s->places = sr_build_input(b, "places", SR_SHAPE(rows, s->context + s->target), SR_I64);
}

// Returns the patches, which are the last `count` tokens: (N, prefix + count, D) -> (N, count, D).
static SrNodeId patches_of(SrBuilder *b, SrNodeId x, int count) {
    SrSelectTokensParams p = {.begin = sr_build_shape(b, x).d[1] - count, .count = count};
    return p.begin == 0 ? x : sr_build(b, "select_tokens", "patches", &p, x);
}

static SrStatus build_targets(SrLossContext *ctx, State *s, SrNodeId *out) {
    SrBuilder *b = ctx->builder;
    SrModelRun run = {
        .prefix = PREFIX, .no_heads = true, .trunk_outputs = true, .statistics = SR_STATISTICS_OWN};
    SrOutputs teacher;
    SrNodeId x;
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &s->encoder, &teacher));
    SR_TRY(sr_token_grid_tokens(ctx, &teacher, &s->grid, &x));
    x = sr_build(b, "standardize", "target", &(SrStandardizeParams){1e-5, false},
                 patches_of(b, x, s->grid.n));
    *out = sr_build_n(b, "gather_tokens", "target_blocks", &(SrGatherTokensParams){0},
                      (SrNodeId[]){x, s->targets}, 2);
    return sr_builder_status(b);
}

// Predicts the features of the target blocks from the tokens of the context: (batch, context, D)
// -> (blocks * batch, target, D).  The context's tokens go to their places, and the mask token to
// all others.  Positions are added, then each block's places are gathered.
static SrNodeId predict(SrBuilder *b, const State *s, SrNodeId x) {
    int D = sr_shape_last(sr_build_shape(b, x));
    SrScatterTokensParams scatter = {0, s->grid.n};
    sr_builder_push(b, "heads.predictor");
    x = sr_token_linear(b, "predictor_embed", x, s->p.dim, true, 0.02);
    sr_builder_set_entry(b, "token", "mask_token");
    x = sr_build_n(b, "scatter_tokens", "scatter", &scatter, (SrNodeId[]){x, s->visible}, 2);
    x = sr_token_fixed_positions(b, "predictor_pos_embed", x, 0, s->grid.side);
    x = sr_build_n(b, "gather_tokens", "gather", &(SrGatherTokensParams){0},
                   (SrNodeId[]){x, s->places}, 2);
    SrTokenBlock block = {.num_heads = s->p.heads, .mlp_width = (int)(s->p.dim * s->p.mlp_ratio)};
    x = sr_token_blocks(b, "predictor_blocks", x, &block, s->p.depth, NULL);
    x = sr_token_norm(b, "predictor_norm", x, 1e-6);
    x = sr_token_linear(b, "predictor_proj", patches_of(b, x, s->target), D, true, 0.02);
    sr_builder_pop(b);
    return x;
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    SrBuilder *b = ctx->builder;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    SrOutputs outputs;
    SrNodeId context, target;
    SR_TRY(sr_builder_status(b));
    s->p = *(const IjepaLoss *)params;
    s->batch = ctx->batch;
    s->seed = ctx->seed;
    SR_TRY(sr_token_grid_one_view(ctx));
    SR_TRY(sr_token_grid(ctx, s->p.patch_size, &s->grid));
    SR_TRY(check(ctx, s));
    build_inputs(b, s);
    SrModelRun run = {
        .trainable = true, .no_heads = true, .trunk_outputs = true, .visible = &s->visible};
    SR_TRY(sr_loss_run(ctx, &run, &outputs));
    SR_TRY(sr_token_grid_tokens(ctx, &outputs, &s->grid, &context));
    SR_TRY(build_targets(ctx, s, &target));
    SrNodeId prediction = predict(b, s, patches_of(b, context, s->context));
    *loss = sr_build_n(b, "regression_loss", "smooth_l1", &(SrRegressionLossParams){1},
                       (SrNodeId[]){prediction, target}, 2);
    return sr_builder_status(b);
}

// ---- hooks

static double between(SrRng *rng, SrDoubles pair) {
    return pair.v[0] + (pair.v[1] - pair.v[0]) * sr_rng_uniform(rng);
}

// Lists the patches of a block at a random place, row by row, without the patches that are `taken`
// (NULL: none is).  Returns their number.
static int draw_block(const State *s, SrRng *rng, Size size, const bool *taken, int64_t *out) {
    int side = s->grid.side, n = 0;
    int top = (int)sr_rng_below(rng, (uint32_t)(side - size.h + 1)),
        left = (int)sr_rng_below(rng, (uint32_t)(side - size.w + 1));
    for (int y = top; y < top + size.h; y++)
        for (int x = left; x < left + size.w; x++)
            if (!taken || !taken[y * side + x])
                out[n++] = y * side + x;
    return n;
}

// Moves `keep` of the n patches to the front, in the order in which they were drawn.  All choices
// are equally likely.
static void choose(SrRng *rng, int64_t *patches, int n, int keep) {
    SR_ASSERT(keep <= n);
    for (int i = 0; i < keep; i++) {
        int other = i + (int)sr_rng_below(rng, (uint32_t)(n - i));
        int64_t patch = patches[i];
        patches[i] = patches[other];
        patches[other] = patch;
    }
}

// Draws the target blocks of an image.  taken: (grid.n), set for every patch of the blocks, also
// for those that are not predicted.  stride: distance between two blocks in `targets`.
static void draw_targets(const State *s, SrRng *rng, Size size, bool *taken, int64_t *targets,
                         int64_t stride) {
    int64_t block[MAX_PATCHES];
    for (int i = 0; i < s->grid.n; i++)
        taken[i] = false;
    for (int m = 0; m < s->p.blocks; m++) {
        int n = draw_block(s, rng, size, NULL, block);
        for (int i = 0; i < n; i++)
            taken[block[i]] = true;
        choose(rng, block, n, s->target);
        for (int i = 0; i < s->target; i++)
            targets[m * stride + i] = block[i];
    }
}

static int context_of(const State *s, SrRng *rng, Size size, const bool *taken, int64_t *block) {
    int n = draw_block(s, rng, size, taken, block);
    if (n >= s->context)
        choose(rng, block, n, s->context);
    return n;
}

// Draws the blocks of an image again until the context is large enough, at most TRIES times.  After
// that the context is drawn from all patches that no target covers.  If these are too few, some
// patches occur more than once.
static void draw_image(const State *s, SrRng *rng, Size pred, Size enc, int64_t *visible,
                       int64_t *targets, int64_t stride) {
    bool taken[MAX_PATCHES];
    int64_t block[MAX_PATCHES];
    int n = 0;
    for (int i = 0; i < TRIES && n < s->context; i++) {
        draw_targets(s, rng, pred, taken, targets, stride);
        n = context_of(s, rng, enc, taken, block);
    }
    if (n < s->context)
        n = context_of(s, rng, (Size){s->grid.side, s->grid.side}, taken, block);
    for (int i = 0; i < s->context; i++)
        visible[i] = block[i % n];
}

// Draws the size of a step's target blocks.  range_of looks at a grid of scales and ratios; a size
// between two of its points that is smaller or larger than all of them is drawn again.
static Size draw_size(const State *s, SrRng *sizes) {
    for (;;) {
        double scale = between(sizes, s->p.pred_scale), aspect = between(sizes, s->p.aspect);
        Size size = size_of(&s->grid, scale, aspect);
        if (size.h * size.w >= s->target && s->p.blocks * size.h * size.w < s->grid.n)
            return size;
    }
}

static void before_rows(void *instance, const SrLossStep *step, int64_t first) {
    const State *s = instance;
    int64_t *visible = sr_loss_input(step, s->visible).data; // (batch, context)
    int64_t *targets = sr_loss_input(step, s->targets).data; // (blocks * batch, target)
    int64_t *places = sr_loss_input(step, s->places).data;   // (blocks * batch, context + target)
    SrRng sizes = sr_rng(s->seed, SR_RNG_TOKENS, (uint64_t)step->iteration, 0, 1, 0);
    Size pred = draw_size(s, &sizes);
    Size enc = size_of(&s->grid, between(&sizes, s->p.enc_scale), 1);
    int all = s->context + s->target;
    for (int64_t i = 0; i < s->batch; i++) {
        SrRng rng =
            sr_rng(s->seed, SR_RNG_TOKENS, (uint64_t)step->iteration, (uint64_t)(first + i), 0, 0);
        draw_image(s, &rng, pred, enc, visible + i * s->context, targets + i * s->target,
                   (int64_t)s->batch * s->target);
    }
    for (int64_t r = 0; r < (int64_t)s->p.blocks * s->batch; r++)
        for (int k = 0; k < all; k++)
            places[r * all + k] = k < s->context ? visible[r % s->batch * s->context + k]
                                                 : targets[r * s->target + k - s->context];
}

static double momentum_at(const State *s, const SrLossStep *step) {
    double done = (double)step->iteration / (double)SR_MAX(step->max_iterations, 1);
    return s->p.ema.v[0] + (s->p.ema.v[1] - s->p.ema.v[0]) * done;
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *s = instance;
    sr_momentum_encoder_update(&s->encoder, step->params, momentum_at(s, step));
}

static void report(void *instance, const SrLossStep *step, SrText *fields) {
    sr_json_float(fields, "teacher_momentum", momentum_at(instance, step));
}

#define SMALL "patch_size: 4, pred_emb_dim: 8, pred_depth: 1, pred_num_heads: 2, num_pred_masks: 2"
static const SrLossExample examples[] = {{"{" SMALL ", ema: [0.9, 1.0]}",
                                          "[[identity, {}]]",
                                          {16},
                                          .may_rise = true, // a moving target
                                          .trunk = SR_LOSS_EXAMPLE_VIT}};

const SrLoss sr_loss_ijepa_loss = {
    .name = "ijepa_loss",
    .help = "I-JEPA: predicts a slowly moving copy's features of target blocks from a context of "
            "patches",
    .subtree = "LOSS.ijepa_loss",
    .options = options,
    .params_bytes = sizeof(IjepaLoss),
    .student_views = SR_NO_STUDENT,
    .rows_are_independent = true,
    .whole_batches = "the teacher moves by the same share in every step",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .infer = sr_infer_patch_size,
    .build = build,
    .start = sr_momentum_encoder_start,
    .before_rows = before_rows,
    .after_update = after_update,
    .report = report,
};
