// Builds the layers that several heads share.  This file is no head itself.
#include "heads/mlp_layers.h"

#include <math.h>
#include <stdio.h>

#include "kernels/basic/dropout.h"
#include "kernels/basic/linear.h"
#include "kernels/norm/batch_norm.h"
#include "kernels/norm/weight_norm_linear.h"

// Adds the next layer of the Sequential; `index` counts the layers.
static SrNodeId layer(SrBuilder *b, const char *op, const void *params, int *index, SrNodeId x) {
    char leaf[16];
    snprintf(leaf, sizeof leaf, "%d", (*index)++);
    return sr_build(b, op, leaf, params, x);
}

static SrNodeId linear(SrBuilder *b, const SrMlpLayers *layers, int out_features, int *index,
                       SrNodeId x) {
    // Scaled uniform values are uniform values with a scaled bound.  Weight and bias both use
    // PyTorch's bound, 1 / sqrt(in_features).
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
    int index = 0; // counts every module, activations included, because state keys do
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

// Block i: (N, dims[i]) -> (N, dims[i + 1])
static SrNodeId residual_block(SrBuilder *b, SrMlpLayers layers, const SrInts *dims,
                               const SrHeadSettings *settings, int i, SrNodeId x) {
    SrInts pair = {2, dims->v + i};
    char scope[48];
    layers.bare_last = layers.bare_last && i == dims->n - 2;
    snprintf(scope, sizeof scope, "%d.mlp_res_block", i);
    sr_builder_push(b, scope);
    SrNodeId y = sr_mlp_layers_build(b, &layers, &pair, settings, x);
    sr_builder_pop(b);
    if (pair.v[0] != pair.v[1])
        return y;
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){y, x, x}, 3);
}

SrNodeId sr_mlp_residual_build(SrBuilder *b, const SrMlpLayers *layers, const SrInts *dims,
                               const SrHeadSettings *settings, SrNodeId x) {
    for (int i = 0; i + 1 < dims->n; i++)
        x = residual_block(b, *layers, dims, settings, i, x);
    return x;
}

SrNodeId sr_head_unit_prototypes(SrBuilder *b, const char *leaf, int count, bool freeze_g,
                                 SrNodeId x) {
    sr_builder_set_init(b, "weight_g", (SrInit){SR_INIT_CONSTANT, 1});
    SrNodeId y = sr_build(b, "weight_norm_linear", leaf,
                          &(SrWeightNormLinearParams){.out_features = count}, x);
    if (y == SR_NO_NODE || !freeze_g)
        return y;
    SrGraph *graph = sr_builder_graph(b);
    sr_params_at(sr_graph_params(graph), sr_graph_at(graph, y)->w[0])->trainable = false;
    return y;
}

SrStatus sr_head_one_input(SrBuilder *b, const char *head, int n_in) {
    if (n_in == 1)
        return sr_builder_status(b);
    return sr_builder_fail(b, SR_ERR_CONFIG,
                           "%s takes one input, but the module before it has %d outputs", head,
                           n_in);
}

// VISSL's heads also take (N, C, 1, 1), which is (N, 1, 1, C) here.  A larger map must be pooled
// first, because flattening it would tie the head to one image size.
SrStatus sr_head_one_vector(SrBuilder *b, const char *head, const SrNodeId *in, int n_in,
                            SrNodeId *x) {
    SR_TRY(sr_head_one_input(b, head, n_in));
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

#define FIELD(f) offsetof(SrMlpParams, f)
const SrOption sr_mlp_options[] = {
    {"dims", SR_OPT_INTS, FIELD(dims), "[]", 1, 1 << 24,
     .help = "Sizes from input to output: [2048, 2048, 128]."},
    {"use_bn", SR_OPT_BOOL, FIELD(layers.use_bn), "False", .help = "Batch norm after each Linear."},
    {"use_relu", SR_OPT_BOOL, FIELD(layers.use_relu), "False",
     .help = "ReLU after each Linear (and its norm)."},
    {"use_dropout", SR_OPT_BOOL, FIELD(layers.use_dropout), "False",
     .help = "Dropout of 0.5 after each Linear, its norm and its ReLU."},
    {"use_bias", SR_OPT_BOOL, FIELD(layers.use_bias), "True",
     .help = "The Linear layers have a bias."},
    {"skip_last_layer_relu_bn", SR_OPT_BOOL, FIELD(layers.bare_last), "True",
     .help = "The last Linear has no norm, activation or dropout after it."},
    SR_OPTION_END,
};
#undef FIELD

SrStatus sr_mlp_clf_build(SrBuilder *b, const char *head, const SrMlpParams *p,
                          const SrHeadSettings *settings, SrMlpLayersBuild build_layers,
                          const SrNodeId *in, int n_in, SrNodeId *out) {
    SrNodeId x;
    SR_TRY(sr_head_one_vector(b, head, in, n_in, &x));
    SR_TRY(sr_head_check_dims(b, head, &p->dims, x));
    SrMlpLayers layers = p->layers;
    layers.init_factor = settings->params_multiplier;
    sr_builder_push(b, "clf");
    *out = build_layers(b, &layers, &p->dims, settings, x);
    sr_builder_pop(b);
    return sr_builder_status(b);
}
