// SwAV (Caron et al., "Unsupervised learning of visual features by contrasting cluster
// assignments", NeurIPS 2020, arXiv:2006.09882).  Sinkhorn-Knopp computes codes of some crops
// that use all prototypes equally often.  All other crops predict these codes.  The head is
// heads/swav_head.c; the multi-crop forward is trainer/model/model_forward.c.
//
// The timing is VISSL's where results depend on it:
//   * Prototypes are normalised after each update, so the first forward sees them as drawn.
//   * The queue's scores are recomputed before a step if the step before it used the queue.  The
//     first step with a queue therefore uses random scores.
//   * The queue starts with random rows, and rows are pushed only while it is in use.
#include <string.h>

#include "losses/shared/swav_terms.h"

static const SrOption options[] = {
    SR_SWAV_OPTION_ROWS,
    {"use_double_precision", SR_OPT_BOOL, SR_SWAV_FIELD(sinkhorn.double_precision), "False",
     .help = "Sinkhorn-Knopp in double precision, without subtracting the maximum."},
    {"temp_hard_assignment_iters", SR_OPT_INT, SR_SWAV_FIELD(sinkhorn.hard_iters), "0", 0, 1 << 30,
     .help = "Number of first steps in which each code is a single prototype."},
    {"output_dir", SR_OPT_IGNORED, 0, "\".\"",
     .help = "VISSL writes the matrices of a NaN there; sslrun writes none"},
    {"shk_powerlaw", SR_OPT_FLOAT, SR_SWAV_FIELD(sinkhorn.powerlaw), "0.0", 0, 100,
     .help = "Prototype k gets a share of the images proportional to (k + 1)^-p; 0: equal shares."},
    SR_OPTION_END,
};

// VISSL refuses other collators for this loss, but sets the collator for swav_momentum_loss.
static SrStatus infer(SrInfer *in) {
    static const char *const collators[] = {"multicrop_collator", "multicrop_mixup_collator",
                                            "cutmixup_collator"};
    const SrYaml *head = NULL;
    SR_TRY(sr_infer_only_head(in, "swav_head", &head));
    SR_TRY(sr_infer_check_collator(in, collators, SR_COUNT(collators)));
    return sr_swav_infer(in);
}

typedef struct {
    SrSwavState swav;
    SrNodeId embeddings; // (num_crops * batch, D), pushed to the queue
} State;

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const SrSwavOptions *o = params;
    SrSwavTerms terms = {.options = o};
    State *state = *out = sr_loss_alloc(ctx, sizeof *state);
    SR_TRY(sr_builder_status(ctx->builder));
    SR_TRY(sr_swav_check(ctx, o));
    SR_TRY(sr_swav_state_build(ctx, o, "", &state->swav));
    SR_TRY(
        sr_swav_outputs(ctx, &ctx->outputs, state->swav.n_sets, &state->embeddings, terms.scores));
    memcpy(terms.code_scores, terms.scores, sizeof terms.scores);
    *loss = sr_swav_terms_build(ctx, &terms, &state->swav);
    return sr_builder_status(ctx->builder);
}

static void before_step(void *instance, const SrLossStep *step) {
    const SrSwavState *s = &((State *)instance)->swav;
    if (sr_swav_queue_in_use(&s->queue, step->params)) // the flag of the previous step
        sr_swav_queue_refresh(&s->queue, step->params, s->prototypes);
    sr_swav_queue_begin(&s->queue, step->params, *sr_swav_num_iteration(s, step->params));
}

// VISSL pushes at the end of the loss's forward.  Nothing reads the queue between that point and
// this hook, so the result is the same.
static void push_embeddings(const State *state, const SrLossStep *step) {
    const SrSwavState *s = &state->swav;
    int first[SR_MAX_VIEWS], n = s->batch / s->replicas;
    for (int i = 0; i < s->n_assign; i++)
        first[i] = s->crops_for_assign[i] * n;
    sr_swav_push(s, step->params, sr_loss_value(step, state->embeddings).data, first, n);
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
    .params_bytes = sizeof(SrSwavOptions),
    .whole_batches = "the queue moves by a whole batch in every step",
    .whole_batches_with = "queue.queue_length",
    .examples = sr_swav_examples,
    .n_examples = SR_COUNT(sr_swav_examples),
    .infer = infer,
    .build = build,
    .before_step = before_step,
    .after_update = after_update,
    .facts = facts,
};
