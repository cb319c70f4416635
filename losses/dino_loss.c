// DINO (Caron et al., ICCV 2021, arXiv:2104.14294, algorithm 1).  Crops predict the distributions
// that a teacher with momentum gives for the global crops.  Centring the teacher's scores
// prevents a collapse to one output; sharpening them prevents a collapse to even outputs.
//
// A step has VISSL's order: forward of the model and the teacher, loss with the old centre, update,
// then the centre, then the teacher.
//   centre  <- ema_center centre + (1 - ema_center) mean of the teacher's rows
//   teacher <- m teacher + (1 - m) model, with m from `momentum` to 1 along half a cosine
// The teacher has running statistics of its own.
//
// The loss may rise at first although nothing is wrong.  The centre starts at 0 and then removes
// from the targets what all images share, which the student still predicts
// (tests/losses/test_moving_targets.c).  The loss starts near ln K.
#include <math.h>

#include "base/text/json.h"
#include "kernels/losses/dino_cross_entropy.h"
#include "losses/shared/loss_health.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/teacher_center.h"

#define PREFIX "loss.momentum_encoder."

typedef struct {
    SrDinoCrossEntropyParams op; // num_crops, crops_for_teacher, student_temp
    double momentum, temp_min, temp_max, ema_center;
    int warmup, output_dim;
} DinoLoss;

#define FIELD(f) offsetof(DinoLoss, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.996", 0, 1,
     .help = "Share of its weights that the teacher keeps per step at the start; it grows to 1."},
    {"student_temp", SR_OPT_FLOAT, FIELD(op.student_temp), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the student's scores."},
    {"teacher_temp_min", SR_OPT_FLOAT, FIELD(temp_min), "0.04", 1e-6, 1e6,
     .help = "Temperature that divides the teacher's scores at the first step."},
    {"teacher_temp_max", SR_OPT_FLOAT, FIELD(temp_max), "0.07", 1e-6, 1e6,
     .help = "Temperature of the teacher's scores after the warm-up."},
    {"teacher_temp_warmup_iters", SR_OPT_INT, FIELD(warmup), "37500", 0, 1 << 30,
     .help = "Steps of the warm-up from warmup_teacher_temp to teacher_temp."},
    {"crops_for_teacher", SR_OPT_INTS, FIELD(op.teacher), "[0, 1]", 0, SR_MAX_VIEWS - 1,
     .help = "Crops that the teacher sees, by index."},
    {"ema_center", SR_OPT_FLOAT, FIELD(ema_center), "0.9", 0, 1,
     .help = "Share of its value that the centre keeps per step."},
    {"output_dim", SR_OPT_INT, FIELD(output_dim), "65536", 1, 1 << 24,
     .help = "Number of prototypes (inferred from the head)."},
    {"num_crops", SR_OPT_INT, FIELD(op.num_crops), "10", 2, SR_MAX_VIEWS,
     .help = "Crops per image (inferred from the transforms)."},
    {"normalize_last_layer", SR_OPT_IGNORED, 0, "False",
     .help = "older recipes of VISSL set it and no code reads it; the head has a key of that name"},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrMomentumEncoder encoder; // first, for sr_momentum_encoder_start
    DinoLoss p;
    SrNodeId temperature, scores; // input (1); the teacher's scores (T * batch, K)
    int center;                   // table index: (1, K)
} State;

// output_dim, the width of the centre, follows from the head.
static SrStatus infer(SrInfer *in) {
    const SrYaml *head = NULL, *clusters = NULL;
    SR_TRY(sr_infer_only_head(in, "swav_head dino_head", &head));
    SR_TRY(sr_infer_argument(head, "num_clusters", SR_YAML_LIST, &clusters));
    SR_TRY(sr_infer_set(in, "output_dim", clusters->items[0]));
    if (!in->total_crops &&
        sr_tree_is_default(sr_yaml_find_path(in->tree, "LOSS.dino_loss.num_crops")))
        SR_FAIL(SR_ERR_CONFIG,
                "LOSS.dino_loss.num_crops: the number of crops is not known; set the key, or use a "
                "transform with total_num_crops in DATA.TRAIN.TRANSFORMS");
    SR_TRY(sr_infer_crops(in));
    return sr_infer_force_collator(in, "multicrop_collator");
}

static SrStatus check(SrLossContext *ctx, const DinoLoss *p, SrNodeId scores) {
    int K = sr_shape_last(sr_build_shape(ctx->builder, scores));
    if (ctx->n_views != p->op.num_crops)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.dino_loss.num_crops is %d, but there are %d crops per image",
                               p->op.num_crops, ctx->n_views);
    if (K != p->output_dim)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.dino_loss.output_dim is %d, but the head gives %d scores",
                               p->output_dim, K);
    return sr_loss_check_views(ctx, "crops_for_teacher", p->op.teacher);
}

static SrStatus build_teacher(SrLossContext *ctx, State *state) {
    SrModelRun run = {.prefix = PREFIX,
                      .views = state->p.op.teacher.v,
                      .n_views = state->p.op.teacher.n,
                      .statistics = SR_STATISTICS_OWN};
    SrOutputs teacher;
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &state->encoder, &teacher));
    SR_TRY(sr_outputs_get(ctx->builder, &teacher, ctx->name, "scores0", &state->scores));
    return sr_loss_keep(ctx, state->scores);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const DinoLoss *p = params;
    State *state = *out = sr_loss_alloc(ctx, sizeof *state);
    SrNodeId student;
    SR_TRY(sr_builder_status(ctx->builder));
    state->p = *p;
    SR_TRY(sr_loss_output(ctx, "scores0", &student));
    SR_TRY(check(ctx, p, student));
    SR_TRY(build_teacher(ctx, state));
    state->temperature = sr_build_input(ctx->builder, "teacher_temp", SR_SHAPE(1), SR_F32);
    state->center = sr_build_state(ctx->builder, "center", SR_SHAPE(1, p->output_dim), SR_F32,
                                   (SrInit){SR_INIT_CONSTANT, 0});
    SrNodeId in[3] = {student, state->scores, state->temperature};
    *loss = sr_build_bound(ctx->builder, "dino_cross_entropy", "cross_entropy", &p->op, in, 3,
                           &state->center, 1);
    return sr_builder_status(ctx->builder);
}

// Returns element `iteration` of numpy.linspace(temp_min, temp_max, warmup); after it, temp_max.
static double temperature_at(const DinoLoss *p, int64_t iteration) {
    if (iteration >= p->warmup)
        return p->temp_max;
    double done = p->warmup > 1 ? (double)iteration / (p->warmup - 1) : 0;
    return p->temp_min + (p->temp_max - p->temp_min) * done;
}

static void before_step(void *instance, const SrLossStep *step) {
    const State *state = instance;
    float *temperature = sr_loss_input(step, state->temperature).data;
    *temperature = (float)temperature_at(&state->p, step->iteration);
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *state = instance;
    sr_teacher_center_move(step, state->scores, state->center, state->p.ema_center);
    sr_momentum_encoder_update(&state->encoder, step->params,
                               sr_momentum_cosine(state->p.momentum, step));
}

// Measures the rows with the centre that the next step will use.
static void health(void *instance, const SrLossStep *step, SrLossHealth *out) {
    const State *state = instance;
    SrTensor scores = sr_loss_value(step, state->scores); // (T * batch, K)
    out->sharper = "teacher_temp_max=0.04";
    out->more_even = "ema_center=0.5";
    sr_loss_score_entropies(scores.data, scores.shape.d[0], scores.shape.d[1],
                            sr_params_at(step->params, state->center)->value,
                            temperature_at(&state->p, step->iteration), out);
}

static void report(void *instance, const SrLossStep *step, SrText *fields) {
    const State *state = instance;
    sr_json_float(fields, "teacher_temp", temperature_at(&state->p, step->iteration));
    sr_json_float(fields, "teacher_momentum", sr_momentum_cosine(state->p.momentum, step));
    SrLossHealth targets = {0};
    health(instance, step, &targets);
    sr_json_float(fields, "teacher_entropy", targets.row_entropy);
}

static void facts(const void *instance, SrLossFacts *out) {
    const State *state = instance;
    out->chance = log(state->p.output_dim);
    out->classes = state->p.output_dim;
}

static const SrLossExample examples[] = {
    {"{output_dim: 12, num_crops: 2}",
     "[[dino_head, {in_dim: 32, num_clusters: [12], hidden_dim: 16, bottleneck_dim: 8}]]",
     {16, 16},
     .may_rise = true},
    {"{output_dim: 12, num_crops: 4, teacher_temp_warmup_iters: 3}",
     "[[swav_head, {dims: [32, 8], num_clusters: [12]}]]",
     {16, 16, 8, 8},
     .may_rise = true}};

const SrLoss sr_loss_dino_loss = {
    .name = "dino_loss",
    .help = "DINO: self-distillation with a centred teacher",
    .subtree = "LOSS.dino_loss",
    .options = options,
    .params_bytes = sizeof(DinoLoss),
    .whole_batches = "the centre is a mean over steps of equal size",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .infer = infer,
    .build = build,
    .start = sr_momentum_encoder_start,
    .before_step = before_step,
    .after_update = after_update,
    .report = report,
    .facts = facts,
    .health = health,
};
