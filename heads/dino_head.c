// DINO's head: a projection with GELU to a bottleneck of length 1, then prototypes with weight
// norm.  Caron et al., "Emerging properties in self-supervised vision transformers" (ICCV 2021).
// The loss owns the teacher, its temperature and its centre.
#include "heads/projection.h"

typedef struct {
    SrProjection projection;
    SrInts num_clusters;
    bool use_bn, normalize_last_layer;
} DinoHead;

#define FIELD(f) offsetof(DinoHead, f)
static const SrOption options[] = {
    {"in_dim", SR_OPT_INT, FIELD(projection.in_dim), "384", 1, 1 << 24,
     .help = "Number of input features."},
    {"num_clusters", SR_OPT_INTS, FIELD(num_clusters), "[65536]", 1, 1 << 24,
     .help = "Number of prototypes, as a list of one number."},
    {"use_bn", SR_OPT_BOOL, FIELD(use_bn), "False", .help = "Batch norm between the layers."},
    {"normalize_last_layer", SR_OPT_BOOL, FIELD(normalize_last_layer), "True",
     .help = "Prototypes always have length 1."},
    {"num_layers", SR_OPT_INT, FIELD(projection.num_layers), "3", 1, 16,
     .help = "Number of linear layers of the projection."},
    {"hidden_dim", SR_OPT_INT, FIELD(projection.hidden_dim), "2048", 1, 1 << 20,
     .help = "Width of the hidden layers."},
    {"bottleneck_dim", SR_OPT_INT, FIELD(projection.bottleneck_dim), "256", 1, 1 << 20,
     .help = "Width of the last layer."},
    SR_OPTION_END,
};
#undef FIELD

// in: (N, in_dim) -> scores (N, num_clusters[0])
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    (void)settings;
    const DinoHead *p = params;
    SrProjection projection = p->projection;
    SrNodeId x;
    projection.norm = p->use_bn ? SR_PROJECTION_BN : SR_PROJECTION_NO_NORM;
    if (p->num_clusters.n != 1)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "dino_head: num_clusters has %d sets; DINO has one: [65536]",
                               p->num_clusters.n);
    SR_TRY(sr_head_one_vector(b, "dino_head", in, n_in, &x));
    SR_TRY(sr_head_projection_build(b, "dino_head", &projection, x, &x));
    out[0] =
        sr_head_unit_prototypes(b, "prototypes0", p->num_clusters.v[0], p->normalize_last_layer, x);
    *n_out = 1;
    return sr_builder_status(b);
}

static const char *output(const void *params, int i) {
    (void)params;
    return sr_head_scores(i);
}

static const SrHeadExample examples[] = {
    {"{in_dim: 8, num_clusters: [5], hidden_dim: 6, bottleneck_dim: 4}", false}};

const SrHead sr_head_dino_head = {
    .name = "dino_head",
    .help = "projection with GELU to unit length, then scores against prototypes: DINO",
    .options = options,
    .params_bytes = sizeof(DinoHead),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .output = output,
};
