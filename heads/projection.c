// The projection of DINO's and iBOT's heads; see the header.  Not a head itself.
#include "heads/projection.h"

#include "kernels/linear.h"

enum { MAX_LAYERS = 16 };

// timm's trunc_normal_(std=0.02), biases 0: the initialisation of the vision transformers in front.
static const double init_deviation = 0.02;

static SrNodeId bare_linear(SrBuilder *b, const SrProjection *p, SrNodeId x) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_TRUNCATED_NORMAL, init_deviation});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "linear", "mlp",
                    &(SrLinearParams){.out_features = p->bottleneck_dim, .bias = true}, x);
}

static SrNodeId sequential(SrBuilder *b, const SrProjection *p, const SrHeadSettings *settings,
                           SrNodeId x) {
    int sizes[MAX_LAYERS + 1];
    SrInts dims = {p->num_layers + 1, sizes};
    for (int i = 1; i < p->num_layers; i++)
        sizes[i] = p->hidden_dim;
    sizes[0] = p->in_dim;
    sizes[p->num_layers] = p->bottleneck_dim;
    SrMlpLayers layers = {.use_bn = p->use_bn,
                          .use_gelu = true,
                          .use_bias = true,
                          .bare_last = true,
                          .init_factor = 1,
                          .init_normal = init_deviation};
    sr_builder_push(b, "mlp");
    x = sr_mlp_layers_build(b, &layers, &dims, settings, x);
    sr_builder_pop(b);
    return x;
}

SrStatus sr_head_projection_build(SrBuilder *b, const char *head, const SrProjection *p,
                                  const SrHeadSettings *settings, SrNodeId x, SrNodeId *out) {
    int features = sr_shape_last(sr_build_shape(b, x));
    if (p->in_dim != features)
        return sr_builder_fail(b, SR_ERR_CONFIG, "%s: in_dim is %d, but its input has %d features",
                               head, p->in_dim, features);
    if (p->num_layers > MAX_LAYERS)
        return sr_builder_fail(b, SR_ERR_CONFIG, "%s: num_layers is %d; at most %d are possible",
                               head, p->num_layers, MAX_LAYERS);
    x = p->num_layers > 1 ? sequential(b, p, settings, x) : bare_linear(b, p, x);
    *out = sr_build(b, "l2_normalize", "normalize", NULL, x);
    return sr_builder_status(b);
}
