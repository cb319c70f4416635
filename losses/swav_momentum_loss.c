// SwAV with a momentum encoder: the codes come from a slow copy of the model that sees the assign
// crops only, the predictions from the model itself.  VISSL's swav_momentum_loss; see swav_loss.c
// for SwAV.
//
// VISSL's order within a step: forward of the model, teacher <- m teacher + (1 - m) model, forward
// of the teacher, loss, update, prototypes of both renormalised.  The weights do not move between
// the two forwards, so the teacher may follow before the step; its running statistics are the
// model's, after this step's forward.
//
// Kept: exp(s / epsilon) without the maximum removed (while it fits), and a queue that takes rows /
// num_crops rows of the teacher's embeddings a crop, although these are of the assign crops only:
// with more crops than assign crops a part of the batch never enters it.  Not kept: log(softmax),
// which gives NaN for far scores; it is log_softmax here.
#include "losses/momentum_encoder.h"
#include "losses/swav_terms.h"

#define PREFIX "loss.momentum_encoder."

typedef struct {
    SrSwavOptions swav;
    double momentum;
    int eval_mode_iter_start;
    int sinkhorn;
    int queue_length;
} SwavMomentumLoss;

#define FIELD(f) offsetof(SwavMomentumLoss, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.99", 0, 1, NULL,
     "Share the momentum encoder keeps a step."},
    {"momentum_eval_mode_iter_start", SR_OPT_INT, FIELD(eval_mode_iter_start), "0", 0, 1 << 30,
     NULL, "From this step on the momentum encoder normalises with running statistics."},
    {"embedding_dim", SR_OPT_INT, FIELD(swav.embedding_dim), "128", 1, 1 << 24, NULL,
     "Size of an embedding (inferred from the head)."},
    {"temperature", SR_OPT_FLOAT, FIELD(swav.temperature), "0.1", 1e-6, 1e6, NULL,
     "Divides the scores in the prediction."},
    {"use_double_precision", SR_OPT_BOOL, FIELD(swav.double_precision), "False", 0, 0, NULL,
     "Sinkhorn in double (VISSL declares it and does not read it)."},
    {"normalize_last_layer", SR_OPT_BOOL, FIELD(swav.normalize_last_layer), "True", 0, 0, NULL,
     "Prototypes get length 1 after each update."},
    {"num_iters", SR_OPT_INT, FIELD(swav.num_iters), "3", 0, 10000, NULL,
     "Iterations of Sinkhorn-Knopp."},
    {"epsilon", SR_OPT_FLOAT, FIELD(swav.epsilon), "0.05", 1e-9, 1e9, NULL,
     "Entropy of the codes: smaller is sharper."},
    {"num_crops", SR_OPT_INT, FIELD(swav.num_crops), "2", 2, SR_MAX_VIEWS, NULL,
     "Crops of an image (inferred from the transforms)."},
    {"crops_for_assign", SR_OPT_INTS, FIELD(swav.crops_for_assign), "[0, 1]", 0, SR_MAX_VIEWS - 1,
     NULL, "Crops whose codes are predicted."},
    {"num_prototypes", SR_OPT_INTS, FIELD(swav.num_prototypes), "[3000]", 1, 1 << 24, NULL,
     "Prototypes of each set (inferred from the head)."},
    {"queue.queue_length", SR_OPT_INT, FIELD(queue_length), "0", 0, 1 << 30, NULL,
     "Rows of the queue over all processes; 0: none."},
    {"queue.start_iter", SR_OPT_INT, FIELD(swav.queue_start_iter), "0", 0, 1 << 30, NULL,
     "First step that uses the queue."},
    {"queue.local_queue_length", SR_OPT_INT, FIELD(swav.local_queue_length), "0", 0, 1 << 30, NULL,
     "Rows of the queue in this process (inferred)."},
    {"sinkhorn", SR_OPT_ENUM, FIELD(sinkhorn), "vissl", 0, 0, "vissl|log",
     "log: exact in the log domain, finite for every epsilon and score."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrSwavState swav; // its prototypes are the teacher's
    SrPrototypes student[SR_SWAV_MAX_SETS];
    SrMomentumEncoder encoder;
    double momentum;
    SrNodeId embeddings; // the teacher's: (n_assign * batch, D)
} State;

// Forward of the teacher on the assign crops.
static SrStatus build_teacher(SrLossContext *ctx, const SwavMomentumLoss *p, State *state,
                              SrNodeId outputs[SR_MAX_VIEWS]) {
    SrBuilder *b = ctx->builder;
    SrInts crops = p->swav.crops_for_assign;
    int n = 0;
    SR_TRY(sr_momentum_encoder_build(ctx, PREFIX, &state->encoder));
    sr_builder_set_eval_from(b, p->eval_mode_iter_start);
    SrStatus status = ctx->run_model(ctx, PREFIX, false, crops.v, crops.n, outputs, &n);
    sr_builder_set_eval_from(b, INT64_MAX);
    return status;
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
    SrNodeId teacher[SR_MAX_VIEWS];
    SR_TRY(sr_swav_check(ctx, "swav_momentum_loss", o));
    SR_TRY(build_teacher(ctx, p, state, teacher));
    SR_TRY(sr_swav_state_build(ctx, o, PREFIX, &state->swav));
    SR_TRY(find_student(ctx, state));
    state->embeddings = teacher[0];
    ctx->kept[ctx->n_kept++] = teacher[0];
    SrSwavTerms terms = {.name = "swav_momentum_loss",
                         .options = o,
                         .code_scores = teacher + 1,
                         .assign_rows_only = true,
                         .scores = ctx->outputs + 1,
                         .sinkhorn = {.epsilon = o->epsilon,
                                      .num_iters = o->num_iters,
                                      .double_precision = o->double_precision,
                                      .no_shift = true,
                                      .form = p->sinkhorn}};
    *loss = sr_swav_terms_build(ctx, &terms, &state->swav);
    return sr_builder_status(ctx->builder);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const SwavMomentumLoss *p = params;
    State *state = sr_arena_alloc(sr_graph_arena(sr_builder_graph(ctx->builder)), sizeof *state);
    if (!state)
        return sr_builder_fail(ctx->builder, SR_ERR_MEMORY, "out of memory for swav_momentum_loss");
    *out = state;
    state->momentum = p->momentum;
    return build_nodes(ctx, p, state, loss);
}

static void before_step(void *instance, const SrLossStep *step) {
    State *state = instance;
    const SrSwavState *s = &state->swav;
    int64_t num_iteration = *sr_swav_num_iteration(s, step->params);
    if (num_iteration == 0)
        sr_momentum_encoder_copy(&state->encoder, step->params);
    else
        sr_momentum_encoder_update(&state->encoder, step->params, state->momentum);
    if (sr_swav_queue_begin(&s->queue, step->params, num_iteration))
        sr_swav_queue_refresh(&s->queue, step->params, s->prototypes);
}

static void push_embeddings(const State *state, const SrLossStep *step) {
    const SrSwavState *s = &state->swav;
    const float *x = sr_plan_output(step->plan, state->embeddings).data; // (n_assign * batch, D)
    int rows = s->n_assign * s->batch / s->num_crops;
    for (int i = 0; i < s->n_assign; i++)
        sr_swav_queue_push(&s->queue, step->params, i, x + (int64_t)i * rows * s->queue.D, rows);
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
    .build = build,
    .before_step = before_step,
    .after_update = after_update,
    .facts = facts,
};
