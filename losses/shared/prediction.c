// Predictor head, and the mean cosine over pairs of views.
#include "losses/shared/prediction.h"

#include <stdio.h>

#include "kernels/basic/scale.h"
#include "kernels/basic/slice.h"

SrStatus sr_predictor_build(SrLossContext *ctx, const SrPredictorOptions *p, SrNodeId x,
                            SrNodeId *out) {
    char options[128];
    SrOutputs outputs;
    int D = sr_shape_last(sr_build_shape(ctx->builder, x));
    snprintf(options, sizeof options, "{dims: [%d, %d, %d], use_bn: True, use_relu: True}", D,
             p->hidden_dim, D);
    SrLossHead head = {.name = "predictor", .kind = "mlp", .options = options};
    SR_TRY(sr_loss_head(ctx, &head, x, &outputs));
    return sr_outputs_get(ctx->builder, &outputs, ctx->name, "embedding", out);
}

// Returns the rows of view v: (n * batch, D) -> (batch, D).
static SrNodeId rows_of(SrLossContext *ctx, SrNodeId x, int v) {
    SrSliceParams rows = {.begin = v * ctx->batch, .count = ctx->batch};
    return sr_build(ctx->builder, "slice", "rows", &rows, x);
}

SrStatus sr_prediction_cosine(SrLossContext *ctx, SrNodeId prediction, SrNodeId target,
                              const int *views, int n_targets, SrNodeId *out) {
    SrBuilder *b = ctx->builder;
    SrNodeId terms[SR_OP_MAX_IN];
    int n = 0;
    for (int t = 0; t < n_targets; t++)
        for (int v = 0; v < ctx->n_views; v++) {
            if (v == views[t])
                continue;
            if (n == SR_OP_MAX_IN)
                return sr_builder_fail(
                    b, SR_ERR_CONFIG,
                    "LOSS.%s: there are too many pairs of views, expected at most %d", ctx->name,
                    SR_OP_MAX_IN);
            SrNodeId in[2] = {rows_of(ctx, prediction, v), rows_of(ctx, target, t)};
            terms[n++] = sr_build_n(b, "cosine_similarity", "cosine", NULL, in, 2);
        }
    if (n == 0)
        return sr_builder_fail(b, SR_ERR_CONFIG, "LOSS.%s needs at least two views of an image",
                               ctx->name);
    SrNodeId sum = n > 1 ? sr_build_n(b, "add", "add", NULL, terms, n) : terms[0];
    *out = sr_build(b, "scale", "mean", &(SrScaleParams){.factor = 1.0 / n}, sum);
    return sr_builder_status(b);
}
