// The layers in front of the prototypes of DINO's, iBOT's and MSN's heads: Linear [-> norm] ->
// activation, several times, a bottleneck, and rows of length 1 (Caron et al., "Emerging properties
// in self-supervised vision transformers", ICCV 2021, A.3).
#ifndef SR_HEADS_PROJECTION_H
#define SR_HEADS_PROJECTION_H

#include "heads/mlp_layers.h"
#include "kernels/batch_norm.h"

typedef struct {
    int in_dim, hidden_dim, bottleneck_dim;
    int num_layers; // the bottleneck included
    int norm, act;  // indices of the choices below
    bool one_norm;  // a single norm module stands behind every hidden layer
} SrProjection;

#define SR_PROJECTION_NORMS "none|bn|ln|syncbn"
#define SR_PROJECTION_ACTS "gelu|relu|silu"
enum { SR_PROJECTION_NO_NORM, SR_PROJECTION_BN, SR_PROJECTION_LN, SR_PROJECTION_SYNC_BN };

// MODEL.HEAD.BATCHNORM_EPS and BATCHNORM_MOMENTUM do not reach these heads in VISSL: PyTorch's.
#define SR_PROJECTION_BATCH_NORM ((SrBatchNormParams){.eps = 1e-5, .momentum = 0.1})

// num_layers - 1 hidden layers below the scope "mlp", numbered over norms and activations as in a
// Sequential.  x: (..., in_dim) -> (..., hidden_dim)
SrNodeId sr_head_hidden_layers(SrBuilder *b, const SrProjection *p, SrNodeId x);

// A Linear with the initial values of the vision transformers in front.
SrNodeId sr_head_transformer_linear(SrBuilder *b, const char *leaf, int out_features, SrNodeId x);

// Those, the bottleneck and the length 1; with num_layers 1 "mlp" is a bare Linear.  x: (..., in_dim) ->
// (..., bottleneck_dim).  Another number of features: SR_ERR_CONFIG.
SrStatus sr_head_projection_build(SrBuilder *b, const char *head, const SrProjection *p, SrNodeId x,
                                  SrNodeId *out);

#endif
