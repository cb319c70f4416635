// What BYOL and SimSiam share: a predictor over the embeddings, and the cosine between predictions of some views
// and targets of others.
#ifndef SR_LOSSES_PREDICTION_H
#define SR_LOSSES_PREDICTION_H

#include "losses/loss.h"

typedef struct {
    int hidden_dim, output_dim;
} SrPredictorOptions;
#define SR_PREDICTOR_OPTIONS(params, hidden)                                                   \
    {                                                                                          \
        "predictor_hidden_dim", SR_OPT_INT, offsetof(params, predictor.hidden_dim), hidden, 1, \
            1 << 20, NULL, "Size of the predictor's hidden layer."                             \
    }

// Linear, batch norm, ReLU, linear over x (rows, D): `loss.heads.predictor`.
SrStatus sr_predictor_build(SrLossContext *ctx, const SrPredictorOptions *p, SrNodeId x,
                            SrNodeId *out);

// Mean over all pairs of a target view and another view of the mean cosine between the other's prediction and
// the target.  prediction: (n_views * batch, D) of all views; target: (n_targets * batch, D) of the views listed.
// -> scalar
SrStatus sr_prediction_cosine(SrLossContext *ctx, SrNodeId prediction, SrNodeId target,
                              const int *views, int n_targets, SrNodeId *out);

#endif
