// Parts that swav_loss and swav_momentum_loss share: checks, inference, state and nodes.
#include "losses/shared/swav_terms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/basic/scale.h"
#include "kernels/basic/slice.h"

// ---- checks

// The data decide the number of crops; num_crops, inferred or set by hand, must agree.
static SrStatus check_crops(SrLossContext *ctx, const SrSwavOptions *o) {
    if (o->predict.num_crops < 2 || o->predict.num_crops != ctx->n_views)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.num_crops is %d, but DATA.TRAIN.TRANSFORMS make %d crops "
                               "(at least 2 are needed)",
                               ctx->name, o->predict.num_crops, ctx->n_views);
    if (o->predict.crops_for_assign.n == 0)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG, "LOSS.%s.crops_for_assign is empty",
                               ctx->name);
    for (int i = 0; i < o->predict.crops_for_assign.n; i++)
        if (o->predict.crops_for_assign.v[i] < 0 ||
            o->predict.crops_for_assign.v[i] >= o->predict.num_crops)
            return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                                   "LOSS.%s.crops_for_assign holds %d, expected crops from 0 to %d",
                                   ctx->name, o->predict.crops_for_assign.v[i],
                                   o->predict.num_crops - 1);
    return SR_OK;
}

// Checks that the scores of a set are (crops * batch, P).
static SrStatus check_set(SrLossContext *ctx, const SrSwavOptions *o, int set, SrNodeId scores) {
    SrShape s = sr_build_shape(ctx->builder, scores);
    if (s.rank != 2 || s.d[0] != ctx->batch * ctx->n_views || s.d[1] != o->num_prototypes.v[set])
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "LOSS.%s.num_prototypes[%d] is %d, but the head gives %d scores for %d rows (expected "
            "%d rows); make it equal to num_clusters of the head",
            ctx->name, set, o->num_prototypes.v[set], sr_shape_last(s), s.d[0],
            ctx->batch * ctx->n_views);
    return SR_OK;
}

static const char *const set_names[SR_SWAV_MAX_SETS] = {
    "scores0", "scores1", "scores2",  "scores3",  "scores4",  "scores5",  "scores6", "scores7",
    "scores8", "scores9", "scores10", "scores11", "scores12", "scores13", "scores14"};

SrStatus sr_swav_outputs(SrLossContext *ctx, const SrOutputs *outputs, int n_sets,
                         SrNodeId *embedding, SrNodeId scores[SR_SWAV_MAX_SETS]) {
    SR_TRY(sr_outputs_get(ctx->builder, outputs, ctx->name, "embedding", embedding));
    for (int h = 0; h < n_sets; h++)
        SR_TRY(sr_outputs_get(ctx->builder, outputs, ctx->name, set_names[h], &scores[h]));
    return SR_OK;
}

SrStatus sr_swav_check(SrLossContext *ctx, const SrSwavOptions *o) {
    SrNodeId embedding, scores[SR_SWAV_MAX_SETS];
    int sets = 0;
    SR_TRY(check_crops(ctx, o));
    while (sets < SR_SWAV_MAX_SETS && sr_outputs_find(&ctx->outputs, set_names[sets], 0))
        sets++;
    if (sets != o->num_prototypes.n || !sr_outputs_find(&ctx->outputs, "embedding", 0))
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.num_prototypes has %d sets, but the model gives embeddings "
                               "and %d sets of scores; "
                               "use a swav_head with return_embeddings and num_clusters",
                               ctx->name, o->num_prototypes.n, sets);
    SR_TRY(sr_swav_outputs(ctx, &ctx->outputs, sets, &embedding, scores));
    int dim = sr_shape_last(sr_build_shape(ctx->builder, embedding));
    if (dim != o->embedding_dim)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.embedding_dim is %d, but the embeddings have %d", ctx->name,
                               o->embedding_dim, dim);
    for (int h = 0; h < sets; h++)
        SR_TRY(check_set(ctx, o, h, scores[h]));
    return SR_OK;
}

SrStatus sr_swav_infer(SrInfer *in) {
    const SrYaml *head = NULL, *clusters = NULL, *dims = NULL;
    SR_TRY(sr_infer_only_head(in, "swav_head", &head));
    SR_TRY(sr_infer_argument(head, "num_clusters", SR_YAML_LIST, &clusters));
    SR_TRY(sr_infer_argument(head, "dims", SR_YAML_LIST, &dims));
    SR_TRY(sr_infer_set(in, "num_prototypes", clusters));
    SR_TRY(sr_infer_set(in, "embedding_dim", dims->items[dims->n - 1]));
    SR_TRY(sr_infer_crops(in));
    int64_t asked = sr_infer_int(in, "queue.queue_length", 0);
    int64_t whole = asked - asked % (in->batch * in->world);
    if (asked > 0 && whole == 0)
        sr_warn("%s.queue.queue_length is %lld, less than one batch of %lld, so there is no queue",
                in->at, (long long)asked, (long long)(in->batch * in->world));
    SR_TRY(sr_infer_set_int(in, "queue.queue_length", whole));
    return sr_infer_set_int(in, "queue.local_queue_length", whole / in->world);
}

#define HEAD "[[swav_head, {dims: [32, 16, 8], use_bn: true, num_clusters: [6]}]]"
const SrLossExample sr_swav_examples[2] = {
    {.heads = HEAD, .sizes = {16, 16, 8}},
    {.heads = HEAD,
     .sizes = {16, 16, 8},
     .options = "{queue: {queue_length: 32}}",
     .may_rise = true}, // the queue begins with random rows
};

// ---- state

SrStatus sr_swav_state_build(SrLossContext *ctx, const SrSwavOptions *o, const char *prefix,
                             SrSwavState *state) {
    SrBuilder *b = ctx->builder;
    *state = (SrSwavState){.n_sets = o->num_prototypes.n,
                           .n_assign = o->predict.crops_for_assign.n,
                           .batch = ctx->batch,
                           .replicas = ctx->replicas,
                           .num_crops = o->predict.num_crops,
                           .crops_for_assign = o->predict.crops_for_assign.v,
                           .num_prototypes = o->num_prototypes.v,
                           .normalize = o->normalize_last_layer};
    state->num_iteration =
        sr_build_state(b, "num_iteration", SR_SHAPE(1), SR_I64, (SrInit){SR_INIT_CONSTANT, 0});
    state->queue = (SrSwavQueue){.length = o->local_queue_length * ctx->replicas,
                                 .shards = ctx->replicas,
                                 .start_iter = o->queue_start_iter,
                                 .n_assign = state->n_assign,
                                 .D = o->embedding_dim,
                                 .n_sets = state->n_sets};
    SR_TRY(sr_swav_queue_build(b, &state->queue, o->num_prototypes.v));
    SR_TRY(sr_builder_status(b));
    SrParams *params = sr_graph_params(sr_builder_graph(b));
    // A head without prototypes of its own is allowed as long as nothing reads them here.
    for (int h = 0; h < state->n_sets && (state->normalize || state->queue.length > 0); h++)
        SR_TRY(sr_prototypes_find(params, prefix, h, &state->prototypes[h]));
    return SR_OK;
}

void sr_swav_push(const SrSwavState *s, SrParams *params, const float *x, const int *first,
                  int rows) {
    int n = s->batch / s->replicas, D = s->queue.D;
    for (int i = 0; i < s->n_assign; i++)
        for (int r = 0; r < s->replicas; r++) {
            int count = rows;
            float *to = sr_swav_queue_room(&s->queue, params, i, r, &count);
            for (int k = 0; k < count; k++) {
                int own = first[i] + k; // row of the replica: view own / n, image own % n
                int64_t row = (int64_t)(own / n) * s->batch + r * n + own % n;
                memcpy(to + (int64_t)k * D, x + row * D, (size_t)D * sizeof *x);
            }
        }
}

int64_t *sr_swav_num_iteration(const SrSwavState *state, SrParams *params) {
    return sr_params_at(params, state->num_iteration)->value;
}

// The loss of a model that gives every prototype the same score is ln P in each set.
void sr_swav_facts(const SrSwavState *state, SrLossFacts *out) {
    for (int h = 0; h < state->n_sets; h++) {
        int P = state->num_prototypes[h];
        out->chance += log(P) / state->n_sets;
        out->classes = SR_MAX(out->classes, P);
    }
    out->rows = state->batch + state->queue.length;
}

// ---- nodes

// Builds the codes (batch, P) of assign crop i in set h.
static SrNodeId codes(SrLossContext *ctx, const SrSwavTerms *t, const SrSwavState *state, int h,
                      int i) {
    SrBuilder *b = ctx->builder;
    int n = ctx->batch;
    SrSliceParams rows = {.begin = n * (t->assign_rows_only ? i : state->crops_for_assign[i]),
                          .count = n};
    SrNodeId scores = sr_build(b, "slice", "rows", &rows, t->code_scores[h]);
    SrSinkhornParams p = t->options->sinkhorn;
    p.no_shift = t->no_shift;
    // The slots of sinkhorn, in order; its params decide which ones it has.
    int w[3], n_w = 0;
    if (p.hard_iters > 0)
        w[n_w++] = state->num_iteration;
    p.queue_length = state->queue.length;
    if (p.queue_length > 0) {
        w[n_w++] = state->queue.scores[h * state->n_assign + i];
        w[n_w++] = state->queue.in_use;
    }
    char leaf[32];
    snprintf(leaf, sizeof leaf, "codes%d_%d", h, i);
    return sr_build_bound(b, "sinkhorn", leaf, &p, &scores, 1, w, n_w);
}

// Builds the loss of set h, a scalar: the mean over assign crops of the mean cross entropy over all
// other crops.
static SrNodeId set_loss(SrLossContext *ctx, const SrSwavTerms *t, const SrSwavState *state,
                         int h) {
    SrNodeId all[SR_OP_MAX_IN] = {SR_NO_NODE};
    for (int i = 0; i < state->n_assign; i++)
        all[i] = codes(ctx, t, state, h, i);
    SrNodeId in[2] = {t->scores[h], all[0]};
    if (state->n_assign > 1)
        in[1] = sr_build_n(ctx->builder, "concat", "codes", NULL, all, state->n_assign);
    return sr_build_n(ctx->builder, "swav_cross_entropy", "cross_entropy", &t->options->predict, in,
                      2);
}

SrNodeId sr_swav_terms_build(SrLossContext *ctx, const SrSwavTerms *t, const SrSwavState *state) {
    SrNodeId terms[SR_SWAV_MAX_SETS];
    if (state->n_assign > SR_OP_MAX_IN) {
        sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                        "LOSS.%s.crops_for_assign: expected at most %d crops", ctx->name,
                        SR_OP_MAX_IN);
        return SR_NO_NODE;
    }
    for (int h = 0; h < state->n_sets; h++)
        terms[h] = set_loss(ctx, t, state, h);
    if (state->n_sets == 1)
        return terms[0];
    SrNodeId sum = sr_build_n(ctx->builder, "add", "add", NULL, terms, state->n_sets);
    return sr_build(ctx->builder, "scale", "mean", &(SrScaleParams){.factor = 1.0 / state->n_sets},
                    sum);
}
