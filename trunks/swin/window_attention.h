// Attention within the windows of a map, the core of Swin transformers.  Each trunk chooses the
// names.
#ifndef SR_TRUNKS_SWIN_WINDOW_ATTENTION_H
#define SR_TRUNKS_SWIN_WINDOW_ATTENTION_H

#include "graph/ir/builder.h"

typedef struct {
    int heads;
    int window_h, window_w;
    int shift_h, shift_w; // in pixels; 0 in a dimension that one window spans
    double scale;         // of the scores; 0: 1 / sqrt(head dimension)
    double attention_dropout;
    bool qkv_bias;
    bool cosine; // true: cosine attention of Swin V2 with logit_scale and no bias for keys
} SrWindowAttention;

// Adds the layer `qkv`, windows, attention with the bias `relative` (1, heads, window, window),
// and the reassembled map: (N, H, W, C) -> (N, H, W, C), before the projection.  If the map is
// padded to whole windows, the zeros are tokens like others, as in torchvision and VISSL.
// Parameters: qkv.weight, qkv.bias and logit_scale in the builder's scope; `weight` gives
// qkv.weight's initial values.
SrNodeId sr_window_attention(SrBuilder *b, const SrWindowAttention *p, SrNodeId x,
                             SrNodeId relative, SrInit weight);

#endif
