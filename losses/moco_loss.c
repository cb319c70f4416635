// MoCo (He et al., "Momentum contrast for unsupervised visual representation learning", CVPR 2020).
// The model encodes the first view of an image, the query.  A momentum encoder encodes the second
// view, the key.  The query must find its key among a queue of past keys.  MoCo v2 is a recipe for
// this loss, with an MLP head and other augmentation.
//
// The timing is VISSL's.  The key encoder starts as a copy of the parameters and moves before each
// later forward.  Keys enter the queue after the loss is computed.  With several replicas, each
// replica encodes keys of all of them (section 3.3, shuffled batch norm).
#include <stddef.h>

#include "kernels/losses/moco_cross_entropy.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/key_queue.h"
#include "losses/shared/momentum_encoder.h"

typedef struct {
    SrMocoCrossEntropyParams op;
    int embedding_dim;
    double momentum;
} Moco;

#define FIELD(f) offsetof(Moco, f)
static const SrOption options[] = {
    {"embedding_dim", SR_OPT_INT, FIELD(embedding_dim), "128", 1, 1 << 24,
     .help = "Size of an embedding; must equal the size of the head's output."},
    {"queue_size", SR_OPT_INT, FIELD(op.queue_size), "65536", 1, 1 << 28,
     .help = "Number of keys in the queue; at least the images of a step."},
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.999", 0, 1,
     .help = "Share of its weights that the key encoder keeps per step."},
    {"temperature", SR_OPT_FLOAT, FIELD(op.temperature), "0.2", 1e-6, 1e6,
     .help = "Temperature that divides the cosines."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrMomentumEncoder encoder;
    SrKeyQueue queue;
    double momentum;
    SrNodeId keys; // (batch, D), of length 1
    int batch;
} State;

static SrStatus check(SrLossContext *ctx, const Moco *p, SrNodeId x) {
    SrShape s = sr_build_shape(ctx->builder, x);
    char text[SR_SHAPE_TEXT_BYTES];
    if (ctx->n_views != 2)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s needs two views of an image, a query and a key, but "
                               "DATA.TRAIN.TRANSFORMS make %d (num_times of ImgReplicatePil)",
                               ctx->name, ctx->n_views);
    if (s.rank != 2 || s.d[1] != p->embedding_dim)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.embedding_dim is %d, but the head gives %s", ctx->name,
                               p->embedding_dim, sr_shape_text(s, text, sizeof text));
    return SR_OK;
}

// Builds the keys: the second view through the key encoder, at length 1.
static SrStatus build_keys(SrLossContext *ctx, State *state) {
    SrOutputs keys;
    SrModelRun run = {.prefix = "loss.moco_encoder.",
                      .views = (const int[]){1},
                      .n_views = 1,
                      .statistics = SR_STATISTICS_OWN,
                      .shuffle = true};
    SR_TRY(sr_momentum_encoder_build(ctx, &run, &state->encoder, &keys));
    SR_TRY(sr_outputs_get(ctx->builder, &keys, ctx->name, "embedding", &state->keys));
    state->keys =
        sr_build(ctx->builder, "l2_normalize", "keys", &(SrL2NormalizeParams){0}, state->keys);
    return sr_loss_keep(ctx, state->keys);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const Moco *p = params;
    SrBuilder *b = ctx->builder;
    SrNodeId query;
    State *state = *out = sr_loss_alloc(ctx, sizeof *state);
    SR_TRY(sr_loss_output(ctx, "embedding", &query));
    SR_TRY(check(ctx, p, query));
    state->momentum = p->momentum;
    state->batch = ctx->batch;
    SR_TRY(build_keys(ctx, state));
    SR_TRY(sr_key_queue_build(ctx, "queue_size", p->embedding_dim, p->op.queue_size, ctx->batch,
                              &state->queue));
    query = sr_build(b, "l2_normalize", "query", &(SrL2NormalizeParams){0}, query);
    *loss = sr_build_bound(b, "moco_cross_entropy", "cross_entropy", &p->op,
                           (SrNodeId[]){query, state->keys}, 2, &state->queue.keys, 1);
    return sr_builder_status(b);
}

static void start(void *instance, const SrLossStep *step, bool resumed) {
    const State *state = instance;
    if (resumed)
        return;
    sr_momentum_encoder_copy_parameters(&state->encoder, step->params);
    sr_key_queue_start(&state->queue, step->params);
}

static void before_step(void *instance, const SrLossStep *step) {
    const State *state = instance;
    if (step->iteration > 0) // the first forward uses an exact copy
        sr_momentum_encoder_update(&state->encoder, step->params, state->momentum);
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *state = instance;
    sr_key_queue_push(&state->queue, step->params, sr_loss_value(step, state->keys).data,
                      state->batch);
}

const SrLoss sr_loss_moco_loss = {
    .name = "moco_loss",
    .help = "MoCo: finds a query's own key among a queue of a momentum encoder's keys",
    .subtree = "LOSS.moco_loss",
    .options = options,
    .params_bytes = sizeof(Moco),
    .student_views = 1,
    .whole_batches = "the queue moves by a whole batch in every step",
    .examples = &(SrLossExample){.heads = "[[mlp, {dims: [32, 8]}]]",
                                 .options = "{embedding_dim: 8, queue_size: 32}",
                                 .sizes = {16, 16},
                                 .may_rise = true}, // the queue begins with random keys
    .n_examples = 1,
    .build = build,
    .start = start,
    .before_step = before_step,
    .after_update = after_update,
};
