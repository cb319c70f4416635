// NNCLR (Dwibedi et al., ICCV 2021, arXiv:2104.14548, equation 4 and algorithm 1).  Each view is
// replaced by its nearest neighbour in a queue of past embeddings.  That neighbour must find the
// prediction of the image's other view among the predictions of all images of the step.  The loss
// is the mean of both directions.
//
// No gradient flows through a neighbour.  The first view's embeddings enter the queue after the
// step.
#include <math.h>

#include "kernels/basic/scale.h"
#include "kernels/basic/slice.h"
#include "kernels/losses/info_nce.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/key_queue.h"
#include "losses/shared/prediction.h"

typedef struct {
    SrPredictorOptions predictor;
    double temperature;
    int queue_size;
} NnclrLoss;

#define FIELD(f) offsetof(NnclrLoss, f)
static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the cosines."},
    {"queue_size", SR_OPT_INT, FIELD(queue_size), "98304", 1, 1 << 28,
     .help = "Number of embeddings in the queue; at least the images of a step."},
    SR_PREDICTOR_OPTIONS(NnclrLoss, "4096"),
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    SrKeyQueue queue;
    SrNodeId z; // (2 batch, D), of length 1
    int batch;
} State;

// Compares the neighbours of view v with the predictions of the other view.
static SrNodeId term(SrLossContext *ctx, const NnclrLoss *p, SrNodeId neighbours,
                     SrNodeId prediction, int v) {
    SrBuilder *b = ctx->builder;
    SrSliceParams own = {.begin = v * ctx->batch, .count = ctx->batch},
                  other = {.begin = (1 - v) * ctx->batch, .count = ctx->batch};
    SrNodeId in[2] = {sr_build(b, "slice", "rows", &own, neighbours),
                      sr_build(b, "slice", "rows", &other, prediction)};
    return sr_build_n(b, "info_nce", "info_nce", &(SrInfoNceParams){p->temperature}, in, 2);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const NnclrLoss *p = params;
    SrBuilder *b = ctx->builder;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    SrNodeId x, prediction;
    SR_TRY(sr_loss_two_views(ctx));
    SR_TRY(sr_loss_many_images(ctx));
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    SR_TRY(sr_predictor_build(ctx, &p->predictor, x, &prediction));
    s->batch = ctx->batch;
    SR_TRY(sr_key_queue_build(ctx, "queue_size", sr_shape_last(sr_build_shape(b, x)), p->queue_size,
                              ctx->batch, &s->queue));
    s->z = sr_build(b, "l2_normalize", "normalize", &(SrL2NormalizeParams){0}, x);
    SR_TRY(sr_loss_keep(ctx, s->z));
    prediction = sr_build(b, "l2_normalize", "normalize", &(SrL2NormalizeParams){0}, prediction);
    SrNearestKeyParams queue = {.queue_size = p->queue_size};
    SrNodeId near =
        sr_build_bound(b, "nearest_key", "neighbours", &queue, &s->z, 1, &s->queue.keys, 1);
    SrNodeId terms[2] = {term(ctx, p, near, prediction, 0), term(ctx, p, near, prediction, 1)};
    SrNodeId sum = sr_build_n(b, "add", "add", NULL, terms, 2);
    *loss = sr_build(b, "scale", "mean", &(SrScaleParams){.factor = 0.5}, sum);
    return sr_builder_status(b);
}

static void start(void *instance, const SrLossStep *step, bool resumed) {
    const State *s = instance;
    if (!resumed)
        sr_key_queue_start(&s->queue, step->params);
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *s = instance;
    sr_key_queue_push(&s->queue, step->params, sr_loss_value(step, s->z).data, s->batch);
}

static void facts(const void *instance, SrLossFacts *out) {
    out->chance = log(((const State *)instance)->batch);
}

static const SrLossExample examples[] = {
    {"{predictor_hidden_dim: 16, queue_size: 32}",
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true}}; // the queue begins with random keys

const SrLoss sr_loss_nnclr_loss = {
    .name = "nnclr_loss",
    .help = "NNCLR: a view's nearest neighbour in a queue takes the place of the view",
    .subtree = "LOSS.nnclr_loss",
    .options = options,
    .params_bytes = sizeof(NnclrLoss),
    .whole_batches = "the queue moves by a whole batch in every step",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .start = start,
    .after_update = after_update,
    .facts = facts,
};
