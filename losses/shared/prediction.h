// Parts that BYOL, SimSiam, MoCo v3 and NNCLR share: a predictor over the embeddings, and the
// cosine between predictions of some views and targets of others.
#ifndef SR_LOSSES_SHARED_PREDICTION_H
#define SR_LOSSES_SHARED_PREDICTION_H

#include "losses/loss.h"

typedef struct {
    int hidden_dim; // width of the hidden layer; the output is as wide as x
} SrPredictorOptions;
#define SR_PREDICTOR_OPTIONS(params, hidden)                                                   \
    {                                                                                          \
        "predictor_hidden_dim", SR_OPT_INT, offsetof(params, predictor.hidden_dim), hidden, 1, \
            1 << 20, .help = "Width of the predictor's hidden layer."                          \
    }

// Builds the head `loss.heads.predictor` over x: linear, batch norm, ReLU, linear.
// (rows, D) -> (rows, D)
SrStatus sr_predictor_build(SrLossContext *ctx, const SrPredictorOptions *p, SrNodeId x,
                            SrNodeId *out);

// Builds the mean cosine between the prediction of a view and the target of another view, a scalar.
// The mean runs over images and over all pairs of a target view and a different view.  prediction:
// (ctx->n_views * batch, D).  target: (n_targets * batch, D), of the views `views`.  SR_ERR_CONFIG:
// there is no pair, or there are more than SR_OP_MAX_IN.
SrStatus sr_prediction_cosine(SrLossContext *ctx, SrNodeId prediction, SrNodeId target,
                              const int *views, int n_targets, SrNodeId *out);

#endif
