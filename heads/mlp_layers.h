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

// The same with skip connections (mlp_res): node scopes "<block>.mlp_res_block".  Where the sizes
// allow it the input is added twice, as VISSL does.
SrNodeId sr_mlp_residual_build(SrBuilder *b, const SrMlpLayers *layers, const SrInts *dims,
                               const SrHeadSettings *settings, SrNodeId x);

// What mlp and mlp_res take (spec 3), and the whole of their build: the checks of the input, then
// `layers` (one of the two above) under the scope "clf".  *out: (N, dims[last])
typedef struct {
    SrMlpLayers layers;
    SrInts dims;
} SrMlpParams;
extern const SrOption sr_mlp_options[];
typedef SrNodeId (*SrMlpLayersBuild)(SrBuilder *b, const SrMlpLayers *layers, const SrInts *dims,
                                     const SrHeadSettings *settings, SrNodeId x);
SrStatus sr_mlp_clf_build(SrBuilder *b, const char *head, const SrMlpParams *p,
                          const SrHeadSettings *settings, SrMlpLayersBuild build_layers,
                          const SrNodeId *in, int n_in, SrNodeId *out);

// Prototypes `leaf` with weight norm, g v / |v|; g starts at 1 and with freeze_g stays there, so
// that every prototype keeps length 1.  x: (..., D) -> (..., count)
SrNodeId sr_head_unit_prototypes(SrBuilder *b, const char *leaf, int count, bool freeze_g,
                                 SrNodeId x);

// One input of any shape; else SR_ERR_CONFIG.
SrStatus sr_head_one_input(SrBuilder *b, const char *head, int n_in);
// One input of shape (N, C), or (N, 1, 1, C) that is made (N, C); else SR_ERR_CONFIG with the
// shapes.
SrStatus sr_head_one_vector(SrBuilder *b, const char *head, const SrNodeId *in, int n_in,
                            SrNodeId *x);
// At least two dims, the first equal to x's channels.
SrStatus sr_head_check_dims(SrBuilder *b, const char *head, const SrInts *dims, SrNodeId x);

#endif
