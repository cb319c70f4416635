// What several heads share; see the header.  Not a head itself.
#include "heads/mlp_layers.h"

#include <math.h>
#include <stdio.h>

#include "kernels/op_params.h"

// The next layer of the Sequential; `index` counts them.
static SrNodeId layer(SrBuilder *b, const char *op, const void *params, int *index, SrNodeId x) {
    char leaf[16];
    snprintf(leaf, sizeof leaf, "%d", (*index)++);
    return sr_build(b, op, leaf, params, x);
}

static SrNodeId linear(SrBuilder *b, const SrMlpLayers *layers, int out_features, int *index,
                       SrNodeId x) {
    // Scaled uniform values are uniform values with a scaled bound; both have PyTorch's, 1 /
    // sqrt(in_features).
    SrInit init = {SR_INIT_UNIFORM,
                   layers->init_factor / sqrt(sr_shape_last(sr_build_shape(b, x)))};
    sr_builder_set_init(b, "weight", init);
    if (layers->use_bias)
        sr_builder_set_init(b, "bias", init);
    SrLinearParams p = {.out_features = out_features, .bias = layers->use_bias};
    return layer(b, "linear", &p, index, x);
}

SrNodeId sr_mlp_layers_build(SrBuilder *b, const SrMlpLayers *layers, const SrInts *dims,
                             const SrHeadSettings *settings, SrNodeId x) {
    SrBatchNormParams bn = {.eps = settings->bn_eps, .momentum = settings->bn_momentum};
    int index = 0; // counts every module, activations included: those are the state keys
    for (int i = 1; i < dims->n; i++) {
        x = linear(b, layers, dims->v[i], &index, x);
        if (i == dims->n - 1 && layers->bare_last)
            break;
        if (layers->use_bn)
            x = layer(b, "batch_norm", &bn, &index, x);
        if (layers->use_relu || layers->use_gelu)
            x = layer(b, layers->use_relu ? "relu" : "gelu", NULL, &index, x);
        if (layers->use_dropout)
            x = layer(b, "dropout", &(SrDropoutParams){.p = 0.5}, &index, x);
    }
    return x;
}

// VISSL's heads take (N, C, 1, 1) too, which is (N, 1, 1, C) here; a map must be pooled, because
// flattening it would tie the head to one image size.
SrStatus sr_head_one_vector(SrBuilder *b, const char *head, const SrNodeId *in, int n_in,
                            SrNodeId *x) {
    if (n_in != 1)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s takes one input, but the module before it gives %d", head, n_in);
    SrShape s = sr_build_shape(b, in[0]);
    char text[SR_SHAPE_TEXT_BYTES];
    *x = in[0];
    if (s.rank == 2)
        return SR_OK;
    if (s.rank != 4 || s.d[1] != 1 || s.d[2] != 1)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "%s takes features of shape (N, C) or (N, 1, 1, C), not %s; pool them first", head,
            sr_shape_text(s, text, sizeof text));
    *x = sr_build(b, "flatten", "reshape", NULL, in[0]);
    return sr_builder_status(b);
}

SrStatus sr_head_check_dims(SrBuilder *b, const char *head, const SrInts *dims, SrNodeId x) {
    if (dims->n < 2)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s: dims needs at least two sizes, input and output", head);
    int channels = sr_shape_last(sr_build_shape(b, x));
    if (dims->v[0] != channels)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s: dims starts with %d, but its input has %d channels", head,
                               dims->v[0], channels);
    return SR_OK;
}
