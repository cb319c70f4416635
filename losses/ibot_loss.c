// iBOT (Zhou et al., ICLR 2022, arXiv:2111.07832, algorithm 1).  It is DINO between crops, with a
// second term inside each global crop: the student's tokens of hidden patches learn the
// distributions that the teacher, which sees the whole crop, gives for these patches.
//
// A step has VISSL's order:
//   1. forward of the student, with hidden patches in the global crops
//   2. forward of the teacher on the global crops, with nothing hidden
//   3. loss with the old centres, and update
//   4. centres move towards the mean of the teacher's rows
//   5. the teacher moves towards the student, with a momentum that grows to 1 along half a cosine
// Temperatures change every epoch.  An image without a hidden patch adds 0 to the patches' term and
// counts in its mean.
#include <math.h>
#include <string.h>

#include "base/text/json.h"
#include "kernels/basic/scale.h"
#include "losses/shared/crop_terms.h"
#include "losses/shared/loss_health.h"
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/teacher_center.h"
#include "losses/shared/token_grid.h"

#define PREFIX "loss.momentum_encoder."

typedef struct {
    double momentum, warmup_temp, temp, warmup_patch_temp, patch_temp, student_temp;
    double center_momentum, center_momentum2, lambda1, lambda2;
    int warmup_epochs, mim_start_epoch, num_global, num_local, out_dim, patch_out_dim;
} IbotLoss;

#define FIELD(f) offsetof(IbotLoss, f)
static const SrOption options[] = {
    {"teacher_momentum", SR_OPT_FLOAT, FIELD(momentum), "0.996", 0, 1,
     .help = "Share of its weights that the teacher keeps per step at the start; it grows to 1."},
    {"warmup_teacher_temp", SR_OPT_FLOAT, FIELD(warmup_temp), "0.04", 1e-6, 1e6,
     .help =
         "Temperature that divides the teacher's scores of the class token in the first epoch."},
    {"teacher_temp", SR_OPT_FLOAT, FIELD(temp), "0.04", 1e-6, 1e6,
     .help = "Temperature of the teacher's scores of the class token after the warm-up."},
    {"warmup_teacher_patch_temp", SR_OPT_FLOAT, FIELD(warmup_patch_temp), "0.04", 1e-6, 1e6,
     .help = "Temperature that divides the teacher's scores of patches in the first epoch."},
    {"teacher_patch_temp", SR_OPT_FLOAT, FIELD(patch_temp), "0.07", 1e-6, 1e6,
     .help = "Temperature of the teacher's scores of patches after the warm-up."},
    {"warmup_teacher_temp_epochs", SR_OPT_INT, FIELD(warmup_epochs), "30", 0, 1 << 20,
     .help = "Epochs of the warm-up of the teacher's temperatures."},
    {"student_temp", SR_OPT_FLOAT, FIELD(student_temp), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the student's scores."},
    {"center_momentum", SR_OPT_FLOAT, FIELD(center_momentum), "0.9", 0, 1,
     .help = "Share of its value that the centre of the class token's scores keeps per step."},
    {"center_momentum2", SR_OPT_FLOAT, FIELD(center_momentum2), "0.9", 0, 1,
     .help = "Share of its value that the centre of the patches' scores keeps per step."},
    {"lambda1", SR_OPT_FLOAT, FIELD(lambda1), "1", 0, 1e6,
     .help = "Weight of the class token's term."},
    {"lambda2", SR_OPT_FLOAT, FIELD(lambda2), "1", 0, 1e6, .help = "Weight of the patches' term."},
    {"mim_start_epoch", SR_OPT_INT, FIELD(mim_start_epoch), "0", 0, 1 << 20,
     .help = "Epoch at which the warm-up of the patches' temperature begins."},
    {"num_global_crops", SR_OPT_INT, FIELD(num_global), "2", 1, SR_MAX_VIEWS,
     .help = "Number of large crops, which the teacher sees (inferred from the transforms)."},
    {"num_local_crops", SR_OPT_INT, FIELD(num_local), "8", 0, SR_MAX_VIEWS,
     .help = "Number of small crops (inferred from the transforms)."},
    {"out_dim", SR_OPT_INT, FIELD(out_dim), "8192", 1, 1 << 24,
     .help = "Number of prototypes of the class token (inferred from the head)."},
    {"patch_out_dim", SR_OPT_INT, FIELD(patch_out_dim), "8192", 1, 1 << 24,
     .help = "Number of prototypes of the patches (inferred from the head)."},
    {"num_epochs", SR_OPT_IGNORED, 0, "10",
     .help = "temperatures are computed from the epoch; VISSL needs the length of its table"},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrMomentumEncoder encoder; // first, for sr_momentum_encoder_start
    IbotLoss p;
    SrNodeId temp, patch_temp; // inputs (1)
    // Scores of the teacher: (G * batch, K) and (G * batch, patches, K'), where G is the number of
    // global crops.
    SrNodeId scores, patch_scores;
    SrNodeId cls, patch; // the terms, scalars
    int center, center2; // table indices: (1, K) and (1, K')
} State;

// ---- inference

// The head may have another number of prototypes for patches, which VISSL's rule ignores.
static SrStatus infer(SrInfer *in) {
    static const char *const collators[] = {"ibot_multicrop_masking_collator"};
    const SrYaml *head = NULL, *out = NULL;
    SR_TRY(sr_infer_check_collator(in, collators, 1));
    SR_TRY(sr_infer_mask_patches(in));
    SR_TRY(sr_infer_only_head(in, "ibot_head", &head));
    SR_TRY(sr_infer_argument(head, "out_dim", SR_YAML_INT, &out));
    SR_TRY(sr_infer_set(in, "out_dim", out));
    const SrYaml *patch = sr_yaml_find(head, "patch_out_dim");
    bool own = patch && patch->type == SR_YAML_INT && patch->i > 0;
    SR_TRY(sr_infer_set(in, "patch_out_dim", own ? patch : out));
    SR_TRY(sr_infer_set_int(in, "num_epochs", sr_tree_int(in->tree, "OPTIMIZER.num_epochs", 1)));
    return sr_infer_global_crops(in);
}

// ---- building

static SrStatus check_width(SrLossContext *ctx, const char *key, int wanted, SrNodeId scores) {
    int K = sr_shape_last(sr_build_shape(ctx->builder, scores));
    if (K == wanted)
        return sr_builder_status(ctx->builder);
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "LOSS.%s.%s is %d, but the head gives %d scores", ctx->name, key, wanted,
                           K);
}

static SrStatus build_teacher(SrLossContext *ctx, State *state) {
    SrModelRun run = {.prefix = PREFIX,
                      .views = sr_first_views(state->p.num_global),
                      .n_views = state->p.num_global,
                      .statistics = SR_STATISTICS_OWN};
    SrOutputs teacher;
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &state->encoder, &teacher));
    SR_TRY(sr_all_views(ctx, &teacher, "scores0", &state->scores));
    SR_TRY(sr_outputs_get(ctx->builder, &teacher, ctx->name, "patch_scores", &state->patch_scores));
    SR_TRY(sr_loss_keep(ctx, state->scores));
    return sr_loss_keep(ctx, state->patch_scores);
}

// Temperatures are set before each step, centres after it.
static void build_inputs(SrLossContext *ctx, State *state) {
    SrBuilder *b = ctx->builder;
    SrInit zero = {SR_INIT_CONSTANT, 0};
    state->temp = sr_build_input(b, "teacher_temp", SR_SHAPE(1), SR_F32);
    state->patch_temp = sr_build_input(b, "teacher_patch_temp", SR_SHAPE(1), SR_F32);
    state->center = sr_build_state(b, "center", SR_SHAPE(1, state->p.out_dim), SR_F32, zero);
    state->center2 =
        sr_build_state(b, "center2", SR_SHAPE(1, state->p.patch_out_dim), SR_F32, zero);
}

static SrStatus build_terms(SrLossContext *ctx, State *state) {
    const IbotLoss *p = &state->p;
    SrCropTerms terms = {.n_student = p->num_global + p->num_local,
                         .n_teacher = p->num_global,
                         .pairs = SR_CROPS_OTHERS,
                         .temperature = p->student_temp};
    SrNodeId patches, mask;
    SR_TRY(sr_all_views(ctx, &ctx->outputs, "scores0", &terms.student));
    SR_TRY(sr_outputs_get(ctx->builder, &ctx->outputs, ctx->name, "patch_scores", &patches));
    SR_TRY(check_width(ctx, "out_dim", p->out_dim, terms.student));
    SR_TRY(check_width(ctx, "patch_out_dim", p->patch_out_dim, patches));
    SR_TRY(sr_view_masks(ctx, p->num_global, &mask));
    terms.targets =
        sr_teacher_targets(ctx, "teacher", state->scores, 0, state->temp, state->center);
    SR_TRY(sr_crop_terms_build(ctx, &terms, &state->cls));
    SrNodeId targets = sr_teacher_targets(ctx, "teacher_patch", state->patch_scores, 0,
                                          state->patch_temp, state->center2);
    state->patch = sr_patch_term(ctx, patches, targets, mask, p->student_temp);
    SR_TRY(sr_loss_keep(ctx, state->cls));
    return sr_loss_keep(ctx, state->patch);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    SrBuilder *b = ctx->builder;
    State *state = *out = sr_loss_alloc(ctx, sizeof *state);
    SR_TRY(sr_builder_status(b));
    state->p = *(const IbotLoss *)params;
    SR_TRY(sr_crop_terms_check(ctx, "num_global_crops + num_local_crops",
                               state->p.num_global + state->p.num_local));
    SR_TRY(build_teacher(ctx, state));
    build_inputs(ctx, state);
    SR_TRY(build_terms(ctx, state));
    SrScaleParams first = {.factor = state->p.lambda1}, second = {.factor = state->p.lambda2};
    *loss = sr_build_n(b, "add", "add", NULL,
                       (SrNodeId[]){sr_build(b, "scale", "cls", &first, state->cls),
                                    sr_build(b, "scale", "patch", &second, state->patch)},
                       2);
    return sr_builder_status(b);
}

// ---- hooks

// Returns `from` in the first `first` epochs, then numpy.linspace(from, to, epochs), then `to`.
static double temperature_at(double from, double to, int first, int epochs, int epoch) {
    if (epoch < first)
        return from;
    if (epoch - first >= epochs)
        return to;
    return epochs > 1 ? from + (to - from) * (epoch - first) / (epochs - 1) : from;
}

static double cls_temperature(const IbotLoss *p, int epoch) {
    return temperature_at(p->warmup_temp, p->temp, 0, p->warmup_epochs, epoch);
}

static double patch_temperature(const IbotLoss *p, int epoch) {
    return temperature_at(p->warmup_patch_temp, p->patch_temp, p->mim_start_epoch, p->warmup_epochs,
                          epoch);
}

static void before_step(void *instance, const SrLossStep *step) {
    const State *state = instance;
    *(float *)sr_loss_input(step, state->temp).data =
        (float)cls_temperature(&state->p, step->epoch);
    *(float *)sr_loss_input(step, state->patch_temp).data =
        (float)patch_temperature(&state->p, step->epoch);
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *state = instance;
    sr_teacher_center_move(step, state->scores, state->center, state->p.center_momentum);
    sr_teacher_center_move(step, state->patch_scores, state->center2, state->p.center_momentum2);
    sr_momentum_encoder_update(&state->encoder, step->params,
                               sr_momentum_cosine(state->p.momentum, step));
}

static void report(void *instance, const SrLossStep *step, SrText *fields) {
    const State *state = instance;
    sr_json_float(fields, "cls", sr_loss_mean(step, state->cls));
    sr_json_float(fields, "patch", sr_loss_mean(step, state->patch));
    sr_json_float(fields, "teacher_temp", cls_temperature(&state->p, step->epoch));
    sr_json_float(fields, "teacher_momentum", sr_momentum_cosine(state->p.momentum, step));
}

static void health(void *instance, const SrLossStep *step, SrLossHealth *out) {
    const State *state = instance;
    SrTensor scores = sr_loss_value(step, state->scores); // (replicas * G * batch, K)
    out->sharper = "teacher_temp=0.04";
    out->more_even = "center_momentum=0.5";
    sr_loss_score_entropies(scores.data, sr_shape_rows(scores.shape), sr_shape_last(scores.shape),
                            sr_params_at(step->params, state->center)->value,
                            cls_temperature(&state->p, step->epoch), out);
}

static void facts(const void *instance, SrLossFacts *out) {
    const State *state = instance;
    out->chance =
        state->p.lambda1 * log(state->p.out_dim) + state->p.lambda2 * log(state->p.patch_out_dim);
    out->classes = state->p.out_dim;
}

static const SrLossExample examples[] = {{"{warmup_teacher_temp_epochs: 2, teacher_temp: 0.07}",
                                          "[[ibot_head, {in_dim: 16, out_dim: 12, patch_out_dim: "
                                          "10, hidden_dim: 16, bottleneck_dim: 8}]]",
                                          {16, 16, 8},
                                          .may_rise = true,
                                          .trunk = SR_LOSS_EXAMPLE_VIT,
                                          .patch = 4,
                                          .more = SR_LOSS_EXAMPLE_GLOBAL_AND_LOCAL},
                                         {"{mim_start_epoch: 1, warmup_teacher_temp_epochs: 2}",
                                          "[[ibot_head, {in_dim: 16, out_dim: 12, shared_head: "
                                          "True, hidden_dim: 16, bottleneck_dim: 8}]]",
                                          {16, 16, 8},
                                          .may_rise = true,
                                          .trunk = SR_LOSS_EXAMPLE_VIT,
                                          .patch = 4,
                                          .more = SR_LOSS_EXAMPLE_GLOBAL_AND_LOCAL}};

const SrLoss sr_loss_ibot_loss = {
    .name = "ibot_loss",
    .help = "iBOT: DINO between crops, and a teacher of hidden patches inside them",
    .subtree = "LOSS.ibot_loss",
    .options = options,
    .params_bytes = sizeof(IbotLoss),
    .rows_are_independent = true,
    .whole_batches = "the centres are means over steps of equal size",
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
