// Layers in front of the prototypes of DINO's, iBOT's and MSN's heads: several times Linear
// [-> norm] -> activation, then a bottleneck with rows of length 1 (Caron et al., "Emerging
// properties in self-supervised vision transformers", ICCV 2021, A.3).
#ifndef SR_HEADS_PROJECTION_H
#define SR_HEADS_PROJECTION_H

#include "heads/mlp_layers.h"
#include "kernels/norm/batch_norm.h"

typedef struct {
    int in_dim, hidden_dim, bottleneck_dim;
    int num_layers; // number of layers with the bottleneck
    int norm, act;  // indices of the choices below
    bool one_norm;  // all hidden layers share one norm module
} SrProjection;

#define SR_PROJECTION_NORMS "none|bn|ln|syncbn"
#define SR_PROJECTION_ACTS "gelu|relu|silu"
enum { SR_PROJECTION_NO_NORM, SR_PROJECTION_BN, SR_PROJECTION_LN, SR_PROJECTION_SYNC_BN };

// Epsilon and momentum are PyTorch's, because in VISSL the keys
// MODEL.HEAD.BATCHNORM_EPS and BATCHNORM_MOMENTUM do not reach them.
#define SR_PROJECTION_BATCH_NORM ((SrBatchNormParams){.eps = 1e-5, .momentum = 0.1})

// Adds num_layers - 1 hidden layers under the scope "mlp", numbered over norms and activations as
// in a Sequential.  x: (..., in_dim) -> (..., hidden_dim)
SrNodeId sr_head_hidden_layers(SrBuilder *b, const SrProjection *p, SrNodeId x);

// Adds a Linear with the initial values that vision transformers use.
SrNodeId sr_head_transformer_linear(SrBuilder *b, const char *leaf, int out_features, SrNodeId x);

// Adds the hidden layers, the bottleneck and the normalisation to length 1.  With num_layers 1,
// "mlp" is a single Linear.  x: (..., in_dim) -> (..., bottleneck_dim). SR_ERR_CONFIG: x has
// another number of features.
SrStatus sr_head_projection_build(SrBuilder *b, const char *head, const SrProjection *p, SrNodeId x,
                                  SrNodeId *out);

#endif
