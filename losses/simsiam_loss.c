// SimSiam (Chen and He, CVPR 2021, arXiv:2011.10566, algorithm 1).  A predictor over one view's
// embedding learns the direction of the other view's embedding, through which no gradient flows
// (sg):
//
//   L = -mean cos(p1, sg z2) / 2 - mean cos(p2, sg z1) / 2
//
// With more views, it is minus the mean over all ordered pairs of views.
#include "kernels/basic/scale.h"
#include "losses/shared/prediction.h"

typedef struct {
    SrPredictorOptions predictor;
} SimsiamLoss;

static const SrOption options[] = {
    SR_PREDICTOR_OPTIONS(SimsiamLoss, "512"),
    SR_OPTION_END,
};

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const SimsiamLoss *p = params;
    SrNodeId z, prediction, cosine;
    int views[SR_MAX_VIEWS];
    *state = NULL;
    for (int v = 0; v < ctx->n_views; v++)
        views[v] = v;
    SR_TRY(sr_loss_output(ctx, "embedding", &z));
    SR_TRY(sr_predictor_build(ctx, &p->predictor, z, &prediction));
    SrNodeId target = sr_build(ctx->builder, "detach", "detach", NULL, z);
    SR_TRY(sr_prediction_cosine(ctx, prediction, target, views, ctx->n_views, &cosine));
    *loss = sr_build(ctx->builder, "scale", "negative", &(SrScaleParams){.factor = -1}, cosine);
    return sr_builder_status(ctx->builder);
}

static const SrLossExample examples[] = {
    {"{predictor_hidden_dim: 8}",
     "[[mlp, {dims: [32, 32, 16], use_bn: True, use_relu: True}]]",
     {16, 16},
     .may_rise = true}};

const SrLoss sr_loss_simsiam_loss = {
    .name = "simsiam_loss",
    .help = "SimSiam: a predictor and a stopped gradient, without negatives and teacher",
    .subtree = "LOSS.simsiam_loss",
    .options = options,
    .params_bytes = sizeof(SimsiamLoss),
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
