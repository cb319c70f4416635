// SwAV with a momentum encoder (VISSL's swav_momentum_loss; losses/swav_loss.c is SwAV).  The codes
// come from the momentum encoder, the teacher, which sees the assign crops only.  The predictions
// come from the model.
//
// VISSL's order within a step is: forward of the model, teacher <- m teacher + (1 - m) model,
// forward of the teacher, loss, update, normalising of the prototypes of both.  The weights do
// not change between the two forwards, so this loss moves the teacher before the step.  The
// teacher's running statistics are the model's after the forward of the same step.
//
// Two peculiarities of VISSL are the same here:
//   * Sinkhorn-Knopp computes exp(s / epsilon) without removing the maximum, while it fits.
//   * The queue takes rows / num_crops rows of the teacher's embeddings for each assign crop.  The
//     teacher's rows are of the assign crops only.  With more crops than assign crops, a part of
//     the batch never enters the queue.
// One is not: VISSL computes log(softmax), which gives NaN for distant scores; here it is
// log_softmax.
#include "losses/shared/momentum_encoder.h"
#include "losses/shared/swav_terms.h"

#define PREFIX "loss.momentum_encoder."

typedef struct {
    SrSwavOptions swav; // first, for SR_SWAV_OPTION_ROWS
    double momentum;
    int eval_mode_iter_start;
} SwavMomentumLoss;

#define FIELD(f) offsetof(SwavMomentumLoss, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.99", 0, 1,
     .help = "Share of its weights that the momentum encoder keeps per step."},
    {"momentum_eval_mode_iter_start", SR_OPT_INT, FIELD(eval_mode_iter_start), "0", 0, 1 << 30,
     .help = "First step in which the momentum encoder normalises with running statistics."},
    SR_SWAV_OPTION_ROWS,
    {"use_double_precision", SR_OPT_BOOL, FIELD(swav.sinkhorn.double_precision), "False",
     .help = "Sinkhorn-Knopp in double precision (VISSL declares this key and does not read it)."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(SrInfer *in) {
    SR_TRY(sr_infer_force_collator(in, "multicrop_collator"));
    return sr_swav_infer(in);
}

typedef struct {
    SrMomentumEncoder encoder; // first, for sr_momentum_encoder_start
    SrSwavState swav;          // swav.prototypes are the teacher's
    SrPrototypes student[SR_SWAV_MAX_SETS];
    double momentum;
    SrNodeId embeddings; // the teacher's: (n_assign * batch, D)
} State;

// Builds the forward of the teacher on the assign crops.
static SrStatus build_teacher(SrLossContext *ctx, const SwavMomentumLoss *p, State *state,
                              SrOutputs *outputs) {
    SrModelRun run = {.prefix = PREFIX,
                      .views = p->swav.predict.crops_for_assign.v,
                      .n_views = p->swav.predict.crops_for_assign.n,
                      .statistics = SR_STATISTICS_STUDENT,
                      .use_running = true,
                      .running_from = p->eval_mode_iter_start};
    return sr_momentum_encoder_build(ctx, &run, &state->encoder, outputs);
}

static SrStatus find_student(SrLossContext *ctx, State *state) {
    SrParams *params = sr_graph_params(sr_builder_graph(ctx->builder));
    for (int h = 0; h < state->swav.n_sets && state->swav.normalize; h++)
        SR_TRY(sr_prototypes_find(params, "", h, &state->student[h]));
    return SR_OK;
}

static SrStatus build_nodes(SrLossContext *ctx, const SwavMomentumLoss *p, State *state,
                            SrNodeId *loss) {
    const SrSwavOptions *o = &p->swav;
    int n_sets = o->num_prototypes.n;
    SrOutputs teacher;
    SrNodeId embeddings;
    SrSwavTerms terms = {.options = o, .assign_rows_only = true, .no_shift = true};
    SR_TRY(sr_swav_check(ctx, o));
    SR_TRY(build_teacher(ctx, p, state, &teacher));
    SR_TRY(sr_swav_state_build(ctx, o, PREFIX, &state->swav));
    SR_TRY(find_student(ctx, state));
    SR_TRY(sr_swav_outputs(ctx, &teacher, n_sets, &state->embeddings, terms.code_scores));
    SR_TRY(sr_swav_outputs(ctx, &ctx->outputs, n_sets, &embeddings, terms.scores));
    SR_TRY(sr_loss_keep(ctx, state->embeddings));
    *loss = sr_swav_terms_build(ctx, &terms, &state->swav);
    return sr_builder_status(ctx->builder);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const SwavMomentumLoss *p = params;
    State *state = *out = sr_loss_alloc(ctx, sizeof *state);
    SR_TRY(sr_builder_status(ctx->builder));
    state->momentum = p->momentum;
    return build_nodes(ctx, p, state, loss);
}

static void before_step(void *instance, const SrLossStep *step) {
    State *state = instance;
    const SrSwavState *s = &state->swav;
    int64_t num_iteration = *sr_swav_num_iteration(s, step->params);
    if (num_iteration > 0) // the first forward uses an exact copy
        sr_momentum_encoder_update(&state->encoder, step->params, state->momentum);
    if (sr_swav_queue_begin(&s->queue, step->params, num_iteration))
        sr_swav_queue_refresh(&s->queue, step->params, s->prototypes);
}

static void push_embeddings(const State *state, const SrLossStep *step) {
    const SrSwavState *s = &state->swav;
    int first[SR_MAX_VIEWS], rows = s->n_assign * (s->batch / s->replicas) / s->num_crops;
    for (int i = 0; i < s->n_assign; i++)
        first[i] = i * rows;
    sr_swav_push(s, step->params, sr_loss_value(step, state->embeddings).data, first, rows);
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *state = instance;
    const SrSwavState *s = &state->swav;
    if (sr_swav_queue_in_use(&s->queue, step->params))
        push_embeddings(state, step);
    *sr_swav_num_iteration(s, step->params) += 1;
    for (int h = 0; h < s->n_sets && s->normalize; h++) {
        sr_prototypes_normalize(step->params, &state->student[h]);
        sr_prototypes_normalize(step->params, &s->prototypes[h]);
    }
}

static void facts(const void *instance, SrLossFacts *out) {
    sr_swav_facts(&((const State *)instance)->swav, out);
}

const SrLoss sr_loss_swav_momentum_loss = {
    .name = "swav_momentum_loss",
    .help = "SwAV with codes from a momentum encoder",
    .subtree = "LOSS.swav_momentum_loss",
    .options = options,
    .params_bytes = sizeof(SwavMomentumLoss),
    .whole_batches = "the teacher moves by the same share in every step",
    .examples = sr_swav_examples,
    .n_examples = SR_COUNT(sr_swav_examples),
    .infer = infer,
    .build = build,
    .start = sr_momentum_encoder_start,
    .before_step = before_step,
    .after_update = after_update,
    .facts = facts,
};
