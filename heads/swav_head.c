// SwAV's head: an MLP to the embedding, then one bias-free Linear per set of prototypes.
// Caron et al., "Unsupervised learning of visual features by contrasting cluster assignments"
// (NeurIPS 2020), 3.  losses/swav_loss.c computes the loss and renormalises the prototypes after an
// update.
//
// In VISSL, normalize_last_layer without weight norm raises an AttributeError, and an unknown
// activation means none.  Both are errors with a name here.
#include <stdio.h>

#include "heads/mlp_layers.h"
#include "kernels/basic/linear.h"
#include "kernels/norm/l2_normalize.h"

typedef struct {
    SrInts dims, num_clusters; // num_clusters: one set of prototypes per element
    bool use_bn, use_bias, return_embeddings, skip_last_bn, normalize_feats;
    int activation;                         // ACTIVATION_...
    bool weight_norm, normalize_last_layer; // apply to the prototypes
} SwavHead;

enum { ACTIVATION_RELU, ACTIVATION_GELU, ACTIVATION_NONE };

#define FIELD(f) offsetof(SwavHead, f)
static const SrOption options[] = {
    {"dims", SR_OPT_INTS, FIELD(dims), "[]", 1, 1 << 24,
     .help = "Sizes of the projection: [2048, 2048, 128]."},
    {"use_bn", SR_OPT_BOOL, FIELD(use_bn), "False", .help = "Batch norm between the layers."},
    {"num_clusters", SR_OPT_INTS, FIELD(num_clusters), "[]", 1, 1 << 24,
     .help = "Prototypes of each set: [3000]."},
    {"use_bias", SR_OPT_BOOL, FIELD(use_bias), "True",
     .help = "The Linear layers of the projection have a bias."},
    {"return_embeddings", SR_OPT_BOOL, FIELD(return_embeddings), "True",
     .help = "Return the embeddings too, before the scores."},
    {"skip_last_bn", SR_OPT_BOOL, FIELD(skip_last_bn), "True",
     .help = "The last Linear of the projection has no norm or activation after it."},
    {"normalize_feats", SR_OPT_BOOL, FIELD(normalize_feats), "True",
     .help = "Divide embeddings by their length."},
    {"activation_name", SR_OPT_ENUM, FIELD(activation), "ReLU", .choices = "ReLU|GELU|none",
     .help = "Activation between the layers."},
    {"use_weight_norm_prototypes", SR_OPT_BOOL, FIELD(weight_norm), "False",
     .help = "Prototypes with weight norm: g v / |v|, where g and v are learned."},
    {"normalize_last_layer", SR_OPT_BOOL, FIELD(normalize_last_layer), "False",
     .help = "With weight norm, g stays 1."},
    SR_OPTION_END,
};
#undef FIELD

// x: (N, D) -> scores (N, P)
static SrNodeId prototypes(SrBuilder *b, const SwavHead *p, int set, SrNodeId x) {
    char leaf[32];
    snprintf(leaf, sizeof leaf, "prototypes%d", set);
    int count = p->num_clusters.v[set];
    if (p->weight_norm)
        return sr_head_unit_prototypes(b, leaf, count, p->normalize_last_layer, x);
    return sr_build(b, "linear", leaf, &(SrLinearParams){.out_features = count}, x);
}

static SrStatus check(SrBuilder *b, const SwavHead *p) {
    if (p->num_clusters.n > SR_HEAD_MAX_OUT - 1)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "swav_head: num_clusters has %d sets, expected at most %d",
                               p->num_clusters.n, SR_HEAD_MAX_OUT - 1);
    if (p->normalize_last_layer && !p->weight_norm)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "swav_head: normalize_last_layer needs use_weight_norm_prototypes; for "
            "plain prototypes set LOSS.swav_loss.normalize_last_layer");
    if (p->num_clusters.n == 0 && !p->return_embeddings)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "swav_head: without num_clusters and return_embeddings it returns nothing");
    return SR_OK;
}

// in: (N, C) -> [embeddings (N, D)], scores0 (N, P_0), scores1, ...
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    const SwavHead *p = params;
    SrNodeId x;
    SR_TRY(check(b, p));
    SR_TRY(sr_head_one_vector(b, "swav_head", in, n_in, &x));
    SR_TRY(sr_head_check_dims(b, "swav_head", &p->dims, x));
    SrMlpLayers layers = {.use_bn = p->use_bn,
                          .use_bias = p->use_bias,
                          .bare_last = p->skip_last_bn,
                          .init_factor = 1,
                          .use_relu = p->activation == ACTIVATION_RELU,
                          .use_gelu = p->activation == ACTIVATION_GELU};
    sr_builder_push(b, "projection_head");
    x = sr_mlp_layers_build(b, &layers, &p->dims, settings, x);
    sr_builder_pop(b);
    // Embeddings of length 1 make scores cosines: prototypes have length 1 after the first update.
    if (p->normalize_feats)
        x = sr_build(b, "l2_normalize", "normalize", &(SrL2NormalizeParams){0}, x);
    *n_out = 0;
    if (p->return_embeddings)
        out[(*n_out)++] = x;
    for (int i = 0; i < p->num_clusters.n; i++)
        out[(*n_out)++] = prototypes(b, p, i, x);
    return sr_builder_status(b);
}

static const char *output(const void *params, int i) {
    bool embeddings = ((const SwavHead *)params)->return_embeddings;
    return embeddings && i == 0 ? "embedding" : sr_head_scores(i - embeddings);
}

static const SrHeadExample examples[] = {
    {"{dims: [8, 6, 4], use_bn: true, num_clusters: [5, 3]}", false}};

const SrHead sr_head_swav_head = {
    .name = "swav_head",
    .help = "projection to an embedding, then scores against sets of prototypes",
    .options = options,
    .params_bytes = sizeof(SwavHead),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .output = output,
};
