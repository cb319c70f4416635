// MSN's head: a projection to unit length and its cosines to unit prototypes, divided by the
// temperature.  Assran et al., "Masked siamese networks for label-efficient learning" (ECCV 2022),
// eq. 1 before the softmax, which belongs to the loss, as do the smoothed labels.
#include "heads/projection.h"
#include "kernels/scale.h"

typedef struct {
    SrProjection projection;
    int num_prototypes;
    double temperature, label_smoothing;
    bool freeze_prototypes, return_query;
} MsnHead;

#define FIELD(f) offsetof(MsnHead, f)
static const SrOption options[] = {
    {"in_dim", SR_OPT_INT, FIELD(projection.in_dim), "384", 1, 1 << 24, NULL,
     "Features that come in."},
    {"num_prototypes", SR_OPT_INT, FIELD(num_prototypes), "1024", 1, 1 << 24, NULL, "Prototypes."},
    {"use_bn", SR_OPT_BOOL, FIELD(projection.use_bn), "True", 0, 0, NULL,
     "Batch norm between the layers."},
    {"hidden_dim", SR_OPT_INT, FIELD(projection.hidden_dim), "2048", 1, 1 << 20, NULL,
     "Size between the layers."},
    {"output_dim", SR_OPT_INT, FIELD(projection.bottleneck_dim), "256", 1, 1 << 20, NULL,
     "Size of the projection."},
    {"freeze_prototypes", SR_OPT_BOOL, FIELD(freeze_prototypes), "False", 0, 0, NULL,
     "The prototypes do not learn."},
    {"label_smoothing", SR_OPT_FLOAT, FIELD(label_smoothing), "0", 0, 1, NULL,
     "Of the prototypes' labels; the loss reads it."},
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.1", 1e-6, 1e6, NULL,
     "Cosines are divided by it."},
    {"return_query", SR_OPT_BOOL, FIELD(return_query), "False", 0, 0, NULL,
     "The projection comes behind the scores."},
    SR_OPTION_END,
};
#undef FIELD

static void freeze(SrBuilder *b, SrNodeId prototypes) {
    SrGraph *graph = sr_builder_graph(b);
    const SrNode *node = sr_graph_at(graph, prototypes);
    for (int i = 0; i < node->n_w; i++)
        sr_params_at(sr_graph_params(graph), node->w[i])->trainable = false;
}

// in: (N, in_dim) -> scores (N, num_prototypes) [, query (N, output_dim)]
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    const MsnHead *p = params;
    SrProjection projection = p->projection;
    SrNodeId query;
    projection.num_layers = 3;
    SR_TRY(sr_head_one_vector(b, "msn_head", in, n_in, &query));
    SR_TRY(sr_head_projection_build(b, "msn_head", &projection, settings, query, &query));
    SrNodeId cosines = sr_head_unit_prototypes(b, "prototypes", p->num_prototypes, true, query);
    SR_TRY(sr_builder_status(b));
    if (p->freeze_prototypes)
        freeze(b, cosines);
    out[0] = sr_build(b, "scale", "div", &(SrScaleParams){1 / p->temperature}, cosines);
    out[1] = query;
    *n_out = p->return_query ? 2 : 1;
    return sr_builder_status(b);
}

static const char *output(const void *params, int i) {
    (void)params;
    return i == 0 ? "scores" : "query";
}

static const SrHeadExample examples[] = {{"{in_dim: 8, hidden_dim: 6}", false}};

const SrHead sr_head_msn_head = {
    .name = "msn_head",
    .help = "projection to unit length and its scaled cosines to prototypes: MSN",
    .options = options,
    .params_bytes = sizeof(MsnHead),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .output = output,
};
