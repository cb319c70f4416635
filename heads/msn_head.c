// MSN's head: a projection to unit length and its cosines to unit prototypes, divided by the
// temperature.  Assran et al., "Masked siamese networks for label-efficient learning" (ECCV 2022),
// eq. 1 without the softmax.  The softmax and the smoothed labels belong to the loss.
#include <stdio.h>

#include "heads/projection.h"
#include "kernels/basic/scale.h"

typedef struct {
    int in_dim, hidden_dim, output_dim, num_prototypes;
    bool use_bn;
    double temperature;
    bool freeze_prototypes, return_query;
} MsnHead;

#define FIELD(f) offsetof(MsnHead, f)
static const SrOption options[] = {
    {"in_dim", SR_OPT_INT, FIELD(in_dim), "384", 1, 1 << 24, .help = "Number of input features."},
    {"num_prototypes", SR_OPT_INT, FIELD(num_prototypes), "1024", 1, 1 << 24,
     .help = "Prototypes."},
    {"use_bn", SR_OPT_BOOL, FIELD(use_bn), "False", .help = "Batch norm between the layers."},
    {"hidden_dim", SR_OPT_INT, FIELD(hidden_dim), "2048", 1, 1 << 20,
     .help = "Width of the hidden layers."},
    {"output_dim", SR_OPT_INT, FIELD(output_dim), "256", 1, 1 << 20,
     .help = "Width of the projection."},
    {"freeze_prototypes", SR_OPT_BOOL, FIELD(freeze_prototypes), "False",
     .help = "Prototypes stay as initialised."},
    {"label_smoothing", SR_OPT_IGNORED, 0, "0",
     .help = "it smooths the prototypes' labels, and no loss of this program reads those"},
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the cosines."},
    {"return_query", SR_OPT_BOOL, FIELD(return_query), "False",
     .help = "Return the projection instead of the scores."},
    SR_OPTION_END,
};
#undef FIELD

static void freeze(SrBuilder *b, SrNodeId prototypes) {
    SrGraph *graph = sr_builder_graph(b);
    const SrNode *node = sr_graph_at(graph, prototypes);
    for (int i = 0; i < node->n_w; i++)
        sr_params_at(sr_graph_params(graph), node->w[i])->trainable = false;
}

enum { LAYERS = 3 };

static SrNodeId numbered(SrBuilder *b, const char *op, const char *stem, int i, const void *params,
                         SrNodeId x) {
    char leaf[16];
    snprintf(leaf, sizeof leaf, "%s%d", stem, i);
    return sr_build(b, op, leaf, params, x);
}

// Adds "fc": fc1, bn1, gelu1, fc2, bn2, gelu2, fc3, numbered like VISSL's state keys.
static SrNodeId projection(SrBuilder *b, const MsnHead *p, SrNodeId x) {
    sr_builder_push(b, "fc");
    for (int i = 1; i <= LAYERS; i++) {
        int features = i < LAYERS ? p->hidden_dim : p->output_dim;
        char leaf[16];
        snprintf(leaf, sizeof leaf, "fc%d", i);
        x = sr_head_transformer_linear(b, leaf, features, x);
        if (i < LAYERS && p->use_bn)
            x = numbered(b, "batch_norm", "bn", i, &SR_PROJECTION_BATCH_NORM, x);
        if (i < LAYERS)
            x = numbered(b, "gelu", "gelu", i, NULL, x);
    }
    sr_builder_pop(b);
    return sr_build(b, "l2_normalize", "normalize", NULL, x);
}

static SrStatus check_features(SrBuilder *b, const MsnHead *p, SrNodeId x) {
    int features = sr_shape_last(sr_build_shape(b, x));
    if (features == p->in_dim)
        return SR_OK;
    return sr_builder_fail(b, SR_ERR_CONFIG,
                           "msn_head: in_dim is %d, but its input has %d features", p->in_dim,
                           features);
}

// Builds the head.  in: (N, in_dim); out: scores (N, num_prototypes), or the query (N, output_dim).
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    (void)settings;
    const MsnHead *p = params;
    SrNodeId x;
    SR_TRY(sr_head_one_vector(b, "msn_head", in, n_in, &x));
    SR_TRY(check_features(b, p, x));
    *n_out = 1;
    out[0] = projection(b, p, x);
    if (p->return_query)
        return sr_builder_status(b);
    SrNodeId cosines = sr_head_unit_prototypes(b, "prototypes", p->num_prototypes, true, out[0]);
    SR_TRY(sr_builder_status(b));
    if (p->freeze_prototypes)
        freeze(b, cosines);
    out[0] = sr_build(b, "scale", "div", &(SrScaleParams){.factor = 1 / p->temperature}, cosines);
    return sr_builder_status(b);
}

static const char *output(const void *params, int i) {
    (void)i;
    return ((const MsnHead *)params)->return_query ? "query" : "scores";
}

static const SrHeadExample examples[] = {{"{in_dim: 8, hidden_dim: 6}", false}};

const SrHead sr_head_msn_head = {
    .name = "msn_head",
    .help = "projection to unit length, then scaled cosines to prototypes: MSN",
    .options = options,
    .params_bytes = sizeof(MsnHead),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .output = output,
};
