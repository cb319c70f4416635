// The projection DINO and iBOT share: Linear [-> BatchNorm] -> GELU, several times, a bottleneck,
// and rows of length 1 (Caron et al., "Emerging properties in self-supervised vision transformers",
// ICCV 2021, A.3).
#ifndef SR_HEADS_PROJECTION_H
#define SR_HEADS_PROJECTION_H

#include "heads/mlp_layers.h"

typedef struct {
    int in_dim, hidden_dim, bottleneck_dim, num_layers;
    bool use_bn;
} SrProjection;

// Nodes below "mlp": a Sequential, with num_layers 1 a bare Linear.  x: (..., in_dim) ->
// (..., bottleneck_dim).  Another number of features: SR_ERR_CONFIG.
SrStatus sr_head_projection_build(SrBuilder *b, const char *head, const SrProjection *p,
                                  const SrHeadSettings *settings, SrNodeId x, SrNodeId *out);

#endif
