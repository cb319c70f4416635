// Builds the projection of DINO's, iBOT's and MSN's heads.  This file is no head itself.
#include "heads/projection.h"

#include <stdio.h>

#include "kernels/basic/linear.h"
#include "kernels/norm/layer_norm.h"

static const char *const activations[] = {"gelu", "relu", "silu"}; // SR_PROJECTION_ACTS

// Initial values are timm's trunc_normal_(std=0.02); biases are 0.
SrNodeId sr_head_transformer_linear(SrBuilder *b, const char *leaf, int out_features, SrNodeId x) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_TRUNCATED_NORMAL, 0.02});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "linear", leaf,
                    &(SrLinearParams){.out_features = out_features, .bias = true}, x);
}

static SrNodeId norm(SrBuilder *b, int kind, const char *leaf, SrNodeId x) {
    if (kind == SR_PROJECTION_LN)
        return sr_build(b, "layer_norm", leaf, &(SrLayerNormParams){.eps = 1e-5}, x);
    return sr_build(b, "batch_norm", leaf, &SR_PROJECTION_BATCH_NORM, x);
}

static const char *numbered(char leaf[16], int index) {
    snprintf(leaf, 16, "%d", index);
    return leaf;
}

// Number of modules in one hidden layer: the distance to the number of the next layer.
static int modules(const SrProjection *p) { return p->norm == SR_PROJECTION_NO_NORM ? 2 : 3; }

SrNodeId sr_head_hidden_layers(SrBuilder *b, const SrProjection *p, SrNodeId x) {
    char leaf[16];
    int each = modules(p);
    sr_builder_push(b, "mlp");
    for (int at = 0; at < each * (p->num_layers - 1); at += each) {
        x = sr_head_transformer_linear(b, numbered(leaf, at), p->hidden_dim, x);
        if (p->norm != SR_PROJECTION_NO_NORM)
            x = norm(b, p->norm, numbered(leaf, p->one_norm ? 1 : at + 1), x);
        x = sr_build(b, activations[p->act], numbered(leaf, at + each - 1), NULL, x);
    }
    sr_builder_pop(b);
    return x;
}

static SrNodeId bottleneck(SrBuilder *b, const SrProjection *p, SrNodeId x) {
    char leaf[32] = "mlp";
    if (p->num_layers > 1)
        snprintf(leaf, sizeof leaf, "mlp.%d", modules(p) * (p->num_layers - 1));
    return sr_head_transformer_linear(b, leaf, p->bottleneck_dim, x);
}

SrStatus sr_head_projection_build(SrBuilder *b, const char *head, const SrProjection *p, SrNodeId x,
                                  SrNodeId *out) {
    int features = sr_shape_last(sr_build_shape(b, x));
    if (p->in_dim != features)
        return sr_builder_fail(b, SR_ERR_CONFIG, "%s: in_dim is %d, but its input has %d features",
                               head, p->in_dim, features);
    x = bottleneck(b, p, sr_head_hidden_layers(b, p, x));
    *out = sr_build(b, "l2_normalize", "normalize", NULL, x);
    return sr_builder_status(b);
}
