// The attention module of ConViT's first blocks: gated positional self-attention.  Nodes and
// parameters belong to the builder's scope.
#ifndef SR_TRUNKS_VIT_GPSA_H
#define SR_TRUNKS_VIT_GPSA_H

#include "graph/ir/builder.h"

typedef struct {
    int heads, height, width; // height and width of the map whose pixels are the tokens
    bool qkv_bias;
    double scale; // of the scores; 0: 1 / sqrt(head dimension)
    int locality_dim;
    double locality_strength; // used with local_init
    bool local_init; // the block starts as a convolution: identity values, one offset per head
    double dropout;  // after the projection
} SrGpsa;

// Adds qk, v, attention and proj: x (N, L, D) -> (N, L, D).  Parameters: alpha, qk, v, pos_proj,
// proj.
SrNodeId sr_gpsa(SrBuilder *b, const SrGpsa *p, SrNodeId x);

#endif
