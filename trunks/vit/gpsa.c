// Builds gated positional self-attention (d'Ascoli et al., arXiv:2103.10697, sections 2 and 3).
#include "trunks/vit/gpsa.h"

#include "graph/ir/token_blocks.h"
#include "kernels/attention/gated_attention.h"
#include "kernels/basic/linear.h"

static SrNodeId values(SrBuilder *b, const SrGpsa *p, SrNodeId x, int dim) {
    SrLinearParams linear = {.out_features = dim, .bias = p->qkv_bias};
    if (!p->local_init)
        return sr_token_linear(b, "v", x, dim, p->qkv_bias, 0.02);
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_IDENTITY, 0});
    if (p->qkv_bias)
        sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "linear", "v", &linear, x);
}

SrNodeId sr_gpsa(SrBuilder *b, const SrGpsa *p, SrNodeId x) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    SrGatedAttentionParams attention = {.num_heads = p->heads,
                                        .scale = p->scale,
                                        .locality_dim = p->locality_dim,
                                        .height = p->height,
                                        .width = p->width};
    SrNodeId in[2];
    in[0] = sr_token_linear(b, "qk", x, 2 * dim, p->qkv_bias, 0.02);
    in[1] = values(b, p, x, dim);
    sr_builder_set_entry(b, "gate", "alpha");
    sr_builder_set_entry(b, "weight", "pos_proj.weight");
    sr_builder_set_entry(b, "bias", "pos_proj.bias");
    if (p->local_init)
        sr_builder_set_init(b, "weight", (SrInit){SR_INIT_LOCALITY, p->locality_strength});
    x = sr_build_n(b, "gated_attention", "attention", &attention, in, 2);
    x = sr_token_linear(b, "proj", x, dim, true, 0.02);
    return sr_token_dropout(b, "proj_drop", x, p->dropout);
}
