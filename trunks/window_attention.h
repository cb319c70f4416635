// Attention within the windows of a map, which Swin transformers are made of; for trunks that name it as they like.
#ifndef SR_TRUNKS_WINDOW_ATTENTION_H
#define SR_TRUNKS_WINDOW_ATTENTION_H

#include "graph/builder.h"

typedef struct {
    int heads;
    int window_h, window_w;
    int shift_h, shift_w; // 0 in a dimension that one window spans
    double scale;         // 0: the usual one
    double attention_dropout;
    bool qkv_bias;
    bool cosine; // Swin V2: cosine attention with logit_scale, no bias for keys
} SrWindowAttention;

// The layer `qkv`, windows, attention with the bias `relative` (1, heads, window, window), and the map put together again:
// (N, H, W, C) -> (N, H, W, C), before the projection.  Where the map is filled up to whole windows the zeros are tokens
// like others, as both torchvision and VISSL have it.  Parameters qkv.weight, qkv.bias and logit_scale of the present
// scope; `weight` gives qkv.weight's initial values.
SrNodeId sr_window_attention(SrBuilder *b, const SrWindowAttention *p, SrNodeId x,
                             SrNodeId relative, SrInit weight);

#endif
