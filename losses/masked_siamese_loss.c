// Masked siamese networks (MSN; Assran et al., "Masked siamese networks for label-efficient
// learning", ECCV 2022, arXiv:2204.07141).  Anchors (large views without part of their patches,
// and small views) predict the prototypes that a momentum encoder assigns to another, whole
// view.  Targets are sharpened, and a term makes the mean prediction use all prototypes (equation
// 2):
//
//   L = mean over anchors of H(target, p) + memax_weight (ln K - H(mean p))
//
// The details follow the published code (github.com/facebookresearch/msn): the first view is the
// target, the momentum encoder is scored with the model's own prototypes, its momentum grows
// linearly to 1, and Sinkhorn-Knopp starts from the sharpened probabilities.  Sinkhorn-Knopp and
// the mean of p see the rows of one replica.  The head must be msn_head: its scores are already
// divided by its temperature.  VISSL's msn_loss is refused: its source calls it unfinished.
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "kernels/assign/sinkhorn_rows.h"
#include "kernels/basic/scale.h"
#include "losses/shared/crop_terms.h"
#include "losses/shared/loss_health.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/token_grid.h"

#define PREFIX "loss.momentum_encoder."

enum { MAX_PATCHES = 1 << 14 };

typedef struct {
    double momentum, sharpen, memax_weight, patch_drop;
    int patch_size;
    bool use_sinkhorn;
} MsnLoss;

#define FIELD(f) offsetof(MsnLoss, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.996", 0, 1,
     .help = "Share of its weights that the target encoder keeps per step at the start; it grows "
             "to 1."},
    {"sharpen", SR_OPT_FLOAT, FIELD(sharpen), "0.25", 1e-3, 1,
     .help =
         "Temperature that sharpens the targets: they are raised to the power 1 / temperature."},
    {"use_sinkhorn", SR_OPT_BOOL, FIELD(use_sinkhorn), "True",
     .help = "Spreads the sharpened targets over all prototypes by Sinkhorn-Knopp, as the recipes "
             "of the published code do."},
    {"memax_weight", SR_OPT_FLOAT, FIELD(memax_weight), "1", 0, 1e6,
     .help = "Weight of the entropy of the mean assignment."},
    {"patch_drop", SR_OPT_FLOAT, FIELD(patch_drop), "0.15", 0, 0.99,
     .help = "Share of the patches of large anchors that are dropped."},
    {"patch_size", SR_OPT_INT, FIELD(patch_size), "16", 1, 1024,
     .help = "Side of a patch in pixels (inferred from the trunk)."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrMomentumEncoder encoder; // first, for sr_momentum_encoder_start
    MsnLoss p;
    SrTokenGrid grid;
    // batch: images.  rows: large anchors of all images.  keep: patches of a large anchor that
    // are not dropped.  classes: K, the prototypes.
    int batch, rows, keep, classes;
    uint64_t seed;
    SrNodeId visible, temp;     // inputs: kept patches (rows, keep); temperature (1)
    SrNodeId terms[2], targets; // scalars; the teacher's distributions (batch, K)
} State;

// Refuses a trunk that drops patches itself, because that would also act on targets.
static SrStatus infer(SrInfer *in) {
    static const char key[] = "MODEL.TRUNK.VISION_TRANSFORMERS.MASKED_IMAGE_MODELING.NAME";
    if (strcmp(sr_tree_text(in->tree, key, ""), "msn") == 0)
        SR_FAIL(
            SR_ERR_CONFIG,
            "%s=msn drops patches of every view, also of targets and in evaluation, as VISSL does; "
            "%s drops patches of anchors itself, so set it to \"\" and use LOSS.%s.patch_drop",
            key, in->loss, in->loss);
    return sr_infer_patch_size(in);
}

// ---- building

// Counts the anchors of the target's size, which follow the target directly.
static int large_anchors(const SrLossContext *ctx) {
    int n = 0;
    while (n + 1 < ctx->n_views && ctx->views[n + 1].h == ctx->views[0].h)
        n++;
    return n;
}

static SrStatus check(SrLossContext *ctx, State *s, int large) {
    SrBuilder *b = ctx->builder;
    if (ctx->n_views < 2 || large < 1)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s needs two first views of equal size, the target and an anchor, "
                               "and takes any number of smaller views after them",
                               ctx->name);
    s->keep = (int)(s->grid.n * (1 - s->p.patch_drop));
    if (s->keep < 1 || s->grid.n > MAX_PATCHES)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "LOSS.%s.patch_drop %g leaves %d of %d patches; expected at least "
                               "one, and at most %d patches in all",
                               ctx->name, s->p.patch_drop, s->keep, s->grid.n, MAX_PATCHES);
    return sr_builder_status(b);
}

// Builds the scores (n * batch, K) of anchors first to first + n - 1.
static SrStatus run_anchors(SrLossContext *ctx, State *s, int first, int n, SrNodeId *scores) {
    bool large = first == 1;
    SrModelRun run = {.trainable = true,
                      .views = sr_first_views(SR_MAX_VIEWS) + first,
                      .n_views = n,
                      .visible = large ? &s->visible : NULL,
                      .trunk_outputs = true};
    SrOutputs outputs;
    SrNodeId tokens;
    SR_TRY(sr_loss_run(ctx, &run, &outputs));
    if (large)
        SR_TRY(sr_token_grid_tokens(ctx, &outputs, &s->grid, &tokens));
    return sr_all_views(ctx, &outputs, "scores", scores);
}

static SrStatus build_anchors(SrLossContext *ctx, State *s, int large, SrNodeId *out) {
    SrNodeId scores[2];
    int small = ctx->n_views - 1 - large;
    SR_TRY(run_anchors(ctx, s, 1, large, &scores[0]));
    if (small > 0)
        SR_TRY(run_anchors(ctx, s, 1 + large, small, &scores[1]));
    *out = small > 0 ? sr_build_n(ctx->builder, "concat", "anchors", NULL, scores, 2) : scores[0];
    return sr_builder_status(ctx->builder);
}

static SrStatus build_targets(SrLossContext *ctx, State *s, SrNodeId *out) {
    SrModelRun run = {.prefix = PREFIX,
                      .views = sr_first_views(1),
                      .n_views = 1,
                      .statistics = SR_STATISTICS_OWN};
    SrSinkhornRowsParams sinkhorn = {.num_iters = 3, .probabilities = true};
    SrOutputs teacher;
    SrNodeId scores;
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &s->encoder, &teacher));
    SR_TRY(sr_all_views(ctx, &teacher, "scores", &scores));
    s->classes = sr_shape_last(sr_build_shape(ctx->builder, scores));
    *out = s->p.use_sinkhorn
               ? sr_build_n(ctx->builder, "sinkhorn_rows", "targets", &sinkhorn,
                            (SrNodeId[]){scores, s->temp}, 2)
               : sr_teacher_targets(ctx, "targets", scores, s->p.sharpen, SR_NO_NODE, -1);
    s->targets = *out;
    return sr_loss_keep(ctx, s->targets);
}

static SrStatus build_terms(SrLossContext *ctx, State *s, SrCropTerms *terms) {
    SrBuilder *b = ctx->builder;
    SR_TRY(sr_crop_terms_build(ctx, terms, &s->terms[0]));
    s->terms[1] = sr_build(b, "mean_entropy", "memax", NULL, terms->student);
    for (int i = 0; i < 2; i++)
        SR_TRY(sr_loss_keep(ctx, s->terms[i]));
    return sr_builder_status(b);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    SrBuilder *b = ctx->builder;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    int large = large_anchors(ctx);
    SR_TRY(sr_builder_status(b));
    s->p = *(const MsnLoss *)params;
    s->batch = ctx->batch;
    s->rows = ctx->batch * large;
    s->seed = ctx->seed;
    SR_TRY(sr_token_grid(ctx, s->p.patch_size, &s->grid));
    SR_TRY(check(ctx, s, large));
    s->visible = sr_build_input(b, "visible", SR_SHAPE(s->rows, s->keep), SR_I64);
    s->temp = sr_build_input(b, "sharpen", SR_SHAPE(1), SR_F32);
    SrCropTerms terms = {
        .n_student = ctx->n_views - 1, .n_teacher = 1, .pairs = SR_CROPS_SAME, .temperature = 1};
    SR_TRY(build_anchors(ctx, s, large, &terms.student));
    SR_TRY(build_targets(ctx, s, &terms.targets));
    SR_TRY(build_terms(ctx, s, &terms));
    SrScaleParams weight = {.factor = s->p.memax_weight};
    SrNodeId sum[2] = {s->terms[0], sr_build(b, "scale", "weight", &weight, s->terms[1])};
    *loss = sr_build_n(b, "add", "add", NULL, sum, 2);
    return sr_builder_status(b);
}

// ---- hooks

// Copies the prototypes to the teacher, which is scored with the model's present prototypes.
static void before_step(void *instance, const SrLossStep *step) {
    const State *s = instance;
    SrTensor temp = sr_loss_input(step, s->temp);
    if (temp.data) // nobody reads it without Sinkhorn
        *(float *)temp.data = (float)s->p.sharpen;
    for (int i = 0; i < s->encoder.n; i++) {
        const SrParam *own = sr_params_at(step->params, s->encoder.student[i]);
        if (strstr(own->name, ".prototypes."))
            memcpy(sr_params_at(step->params, s->encoder.teacher[i])->value, own->value,
                   (size_t)sr_shape_count(own->shape) * sizeof(float));
    }
}

static void before_rows(void *instance, const SrLossStep *step, int64_t first) {
    const State *s = instance;
    int64_t *visible = sr_loss_input(step, s->visible).data; // (large * batch, keep)
    uint32_t order[MAX_PATCHES];
    for (int64_t r = 0; r < s->rows; r++) {
        SrRng rng = sr_rng(s->seed, SR_RNG_TOKENS, (uint64_t)step->iteration,
                           (uint64_t)(first + r % s->batch), (uint32_t)(1 + r / s->batch), 0);
        sr_rng_permutation(&rng, order, (uint32_t)s->grid.n);
        for (int k = 0; k < s->keep; k++)
            visible[r * s->keep + k] = order[k];
    }
}

static double momentum_at(const State *s, const SrLossStep *step) {
    double done = (double)step->iteration / (double)SR_MAX(step->max_iterations, 1);
    return s->p.momentum + (1 - s->p.momentum) * done;
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *s = instance;
    sr_momentum_encoder_update(&s->encoder, step->params, momentum_at(s, step));
}

static void report(void *instance, const SrLossStep *step, SrText *fields) {
    const State *s = instance;
    sr_json_float(fields, "cross_entropy", sr_loss_mean(step, s->terms[0]));
    sr_json_float(fields, "memax", sr_loss_mean(step, s->terms[1]));
    sr_json_float(fields, "teacher_momentum", momentum_at(s, step));
}

static void health(void *instance, const SrLossStep *step, SrLossHealth *out) {
    SrTensor rows = sr_loss_value(step, ((const State *)instance)->targets);
    out->sharper = "sharpen=0.1";
    out->more_even = "memax_weight=5";
    sr_loss_entropies(rows.data, sr_shape_rows(rows.shape), sr_shape_last(rows.shape), out);
}

static void facts(const void *instance, SrLossFacts *out) {
    const State *s = instance;
    out->chance = log(s->classes);
    out->classes = s->classes;
}

#define HEAD "[[msn_head, {in_dim: 16, hidden_dim: 16, output_dim: 8, num_prototypes: 12}]]"
static const SrLossExample examples[] = {{"{patch_size: 4, momentum: 0.9, use_sinkhorn: False}",
                                          HEAD,
                                          {16, 16, 8},
                                          .may_rise = true, // a moving target
                                          .trunk = SR_LOSS_EXAMPLE_VIT},
                                         {"{patch_size: 4, patch_drop: 0.5}",
                                          HEAD,
                                          {16, 16, 16},
                                          .may_rise = true,
                                          .trunk = SR_LOSS_EXAMPLE_VIT}};

const SrLoss sr_loss_masked_siamese_loss = {
    .name = "masked_siamese_loss",
    .help = "MSN: anchors with dropped patches predict the prototypes of a whole view",
    .subtree = "LOSS.masked_siamese_loss",
    .options = options,
    .params_bytes = sizeof(MsnLoss),
    .student_views = SR_NO_STUDENT,
    .rows_are_independent = true,
    .rows_are_compared = true,
    .whole_batches = "the teacher moves by the same share in every step",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .infer = infer,
    .build = build,
    .start = sr_momentum_encoder_start,
    .before_step = before_step,
    .before_rows = before_rows,
    .after_update = after_update,
    .report = report,
    .facts = facts,
    .health = health,
};
