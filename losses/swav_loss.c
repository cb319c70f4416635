// SwAV: codes of some crops, made equally common over the prototypes by Sinkhorn-Knopp, predicted
// from all others. Caron et al., "Unsupervised learning of visual features by contrasting cluster
// assignments" (NeurIPS 2020). Not the multi-crop forward (trainer/model/model.c) and not the head
// (heads/swav_head.c).
//
// VISSL's timing is kept where results depend on it.  Prototypes are renormalised after an update,
// so the first forward sees them as drawn.  The queue's scores are refreshed by a hook that looks
// at a flag set by the previous loss call, so the first step with a queue uses its random scores;
// the queue starts random and is filled only while in use.
#include "losses/swav_terms.h"

typedef struct {
    SrSwavOptions swav;
    int hard_assignment_iters;
    double powerlaw;
    int sinkhorn;
    int queue_length;
} SwavLoss;

#define FIELD(f) offsetof(SwavLoss, f)
static const SrOption options[] = {
    {"embedding_dim", SR_OPT_INT, FIELD(swav.embedding_dim), "128", 1, 1 << 24, NULL,
     "Size of an embedding (inferred from the head)."},
    {"temperature", SR_OPT_FLOAT, FIELD(swav.temperature), "0.1", 1e-6, 1e6, NULL,
     "Divides the scores in the prediction."},
    {"use_double_precision", SR_OPT_BOOL, FIELD(swav.double_precision), "False", 0, 0, NULL,
     "Sinkhorn in double, without the maximum removed."},
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
    {"temp_hard_assignment_iters", SR_OPT_INT, FIELD(hard_assignment_iters), "0", 0, 1 << 30, NULL,
     "One-hot codes for the first steps."},
    {"output_dir", SR_OPT_IGNORED, 0, "\".\"", 0, 0, NULL,
     "VISSL writes matrices of a NaN there; none are written here"},
    {"queue.queue_length", SR_OPT_INT, FIELD(queue_length), "0", 0, 1 << 30, NULL,
     "Rows of the queue over all processes; 0: none."},
    {"queue.start_iter", SR_OPT_INT, FIELD(swav.queue_start_iter), "0", 0, 1 << 30, NULL,
     "First step that uses the queue."},
    {"queue.local_queue_length", SR_OPT_INT, FIELD(swav.local_queue_length), "0", 0, 1 << 30, NULL,
     "Rows of the queue in this process (inferred)."},
    {"shk_powerlaw", SR_OPT_FLOAT, FIELD(powerlaw), "0.0", 0, 100, NULL,
     "Prototype k gets mass like (k + 1)^-p; 0: equal."},
    {"sinkhorn", SR_OPT_ENUM, FIELD(sinkhorn), "vissl", 0, 0, "vissl|log",
     "log: exact in the log domain, finite for every epsilon and score."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build_terms(SrLossContext *ctx, const SwavLoss *p, SrSwavState *state,
                            SrNodeId *loss) {
    const SrSwavOptions *o = &p->swav;
    SR_TRY(sr_swav_check(ctx, "swav_loss", o));
    SR_TRY(sr_swav_state_build(ctx, o, "", state));
    SrSwavTerms terms = {.name = "swav_loss",
                         .options = o,
                         .code_scores = ctx->outputs + 1,
                         .scores = ctx->outputs + 1,
                         .sinkhorn = {.epsilon = o->epsilon,
                                      .num_iters = o->num_iters,
                                      .powerlaw = p->powerlaw,
                                      .double_precision = o->double_precision,
                                      .form = p->sinkhorn,
                                      .hard_iters = p->hard_assignment_iters}};
    *loss = sr_swav_terms_build(ctx, &terms, state);
    return sr_builder_status(ctx->builder);
}

// The embeddings (rows, D) behind the queue are an output of the model, which every plan keeps.
typedef struct {
    SrSwavState swav;
    SrNodeId embeddings;
} State;

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    State *state = sr_arena_alloc(sr_graph_arena(sr_builder_graph(ctx->builder)), sizeof *state);
    if (!state)
        return sr_builder_fail(ctx->builder, SR_ERR_MEMORY, "out of memory for swav_loss");
    *out = state;
    SR_TRY(build_terms(ctx, params, &state->swav, loss));
    state->embeddings = ctx->outputs[0];
    return SR_OK;
}

static void before_step(void *instance, const SrLossStep *step) {
    const SrSwavState *s = &((State *)instance)->swav;
    if (sr_swav_queue_in_use(&s->queue, step->params)) // as the previous step set it
        sr_swav_queue_refresh(&s->queue, step->params, s->prototypes);
    sr_swav_queue_begin(&s->queue, step->params, *sr_swav_num_iteration(s, step->params));
}

// VISSL pushes at the end of the loss's forward; nothing reads the queue between there and here.
static void push_embeddings(const State *state, const SrLossStep *step) {
    const SrSwavState *s = &state->swav;
    SrTensor x = sr_plan_output(step->plan, state->embeddings); // (num_crops * batch, D)
    for (int i = 0; i < s->n_assign; i++) {
        int64_t first = (int64_t)s->crops_for_assign[i] * s->batch;
        sr_swav_queue_push(&s->queue, step->params, i, (const float *)x.data + first * s->queue.D,
                           s->batch);
    }
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *state = instance;
    const SrSwavState *s = &state->swav;
    if (sr_swav_queue_in_use(&s->queue, step->params))
        push_embeddings(state, step);
    *sr_swav_num_iteration(s, step->params) += 1;
    for (int h = 0; h < s->n_sets && s->normalize; h++)
        sr_prototypes_normalize(step->params, &s->prototypes[h]);
}

static void facts(const void *instance, SrLossFacts *out) {
    sr_swav_facts(&((const State *)instance)->swav, out);
}

const SrLoss sr_loss_swav_loss = {
    .name = "swav_loss",
    .help = "SwAV: swapped prediction of cluster codes between crops",
    .subtree = "LOSS.swav_loss",
    .options = options,
    .params_bytes = sizeof(SwavLoss),
    .build = build,
    .before_step = before_step,
    .after_update = after_update,
    .facts = facts,
};
