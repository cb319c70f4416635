// Layers that several heads share: Linear, norm and activation in the order of a torch Sequential,
// and the checks of a head's input.
#ifndef SR_HEADS_MLP_LAYERS_H
#define SR_HEADS_MLP_LAYERS_H

#include "heads/head.h"

typedef struct {
    bool use_bn, use_relu, use_gelu, use_dropout, use_bias;
    bool bare_last;     // nothing follows the last Linear
    double init_factor; // factor on every Linear's initial values: 1, or PARAMS_MULTIPLIER
} SrMlpLayers;

// Adds nodes "0", "1", ... under the builder's scope, numbered over all kinds of layers as in a
// Sequential.  x: (N, dims[0]) -> (N, dims[last])
SrNodeId sr_mlp_layers_build(SrBuilder *b, const SrMlpLayers *layers, const SrInts *dims,
                             const SrHeadSettings *settings, SrNodeId x);

// Adds blocks with skip connections (mlp_res) under scopes "<block>.mlp_res_block".  Where the
// sizes allow it, the input is added twice, as in VISSL.
SrNodeId sr_mlp_residual_build(SrBuilder *b, const SrMlpLayers *layers, const SrInts *dims,
                               const SrHeadSettings *settings, SrNodeId x);

// Arguments of the heads mlp and mlp_res, and their build: it checks the input, then runs `layers`
// (one of the two functions above) under the scope "clf".  *out: (N, dims[last])
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

// Adds prototypes `leaf` with weight norm, g v / |v|.  g starts at 1; freeze_g keeps it there, so
// that every prototype has length 1.  x: (..., D) -> (..., count)
SrNodeId sr_head_unit_prototypes(SrBuilder *b, const char *leaf, int count, bool freeze_g,
                                 SrNodeId x);

// SR_ERR_CONFIG: the head gets another number of inputs than one.
SrStatus sr_head_one_input(SrBuilder *b, const char *head, int n_in);
// Takes one input of shape (N, C) or (N, 1, 1, C) and returns it as (N, C).  SR_ERR_CONFIG: another
// shape, which the message names.
SrStatus sr_head_one_vector(SrBuilder *b, const char *head, const SrNodeId *in, int n_in,
                            SrNodeId *x);
// SR_ERR_CONFIG: fewer than two dims, or the first differs from x's channels.
SrStatus sr_head_check_dims(SrBuilder *b, const char *head, const SrInts *dims, SrNodeId x);

#endif
