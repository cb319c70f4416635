// What several heads share: the run of Linear, norm, activation layers of a torch Sequential, and
// the checks of what comes in.
#ifndef SR_HEADS_MLP_LAYERS_H
#define SR_HEADS_MLP_LAYERS_H

#include "heads/head.h"

typedef struct {
    bool use_bn, use_relu, use_gelu, use_dropout, use_bias;
    bool bare_last;     // nothing follows the last Linear
    double init_factor; // on every Linear's initial values: 1, or PARAMS_MULTIPLIER
} SrMlpLayers;

// Nodes "0", "1", ... under the builder's scope, numbered over all kinds of layers as in a
// Sequential. x: (N, dims[0]) -> (N, dims[last])
SrNodeId sr_mlp_layers_build(SrBuilder *b, const SrMlpLayers *layers, const SrInts *dims,
                             const SrHeadSettings *settings, SrNodeId x);

// One input of shape (N, C), or (N, 1, 1, C) that is made (N, C); else SR_ERR_CONFIG with the
// shapes.
SrStatus sr_head_one_vector(SrBuilder *b, const char *head, const SrNodeId *in, int n_in,
                            SrNodeId *x);
// At least two dims, the first equal to x's channels.
SrStatus sr_head_check_dims(SrBuilder *b, const char *head, const SrInts *dims, SrNodeId x);

#endif
