// The attention module of ConViT's first blocks: gated positional self-attention, nodes and parameters of the present scope.
#ifndef SR_TRUNKS_GPSA_H
#define SR_TRUNKS_GPSA_H

#include "graph/builder.h"

typedef struct {
    int heads, height, width; // the map whose pixels the tokens are
    bool qkv_bias;
    double scale; // 0: the usual one
    int locality_dim;
    double locality_strength; // with local_init
    bool
        local_init; // the block starts as a convolution: values as they are, each head looking at one offset
    double dropout; // behind the projection
} SrGpsa;

// qk, v, attention, proj: x (N, L, D) -> (N, L, D).  Parameters alpha, qk, v, pos_proj, proj.
SrNodeId sr_gpsa(SrBuilder *b, const SrGpsa *p, SrNodeId x);

#endif
