// Layers, MLPs and branches of VISSL's transformers, made of builder calls.
#include "graph/ir/token_blocks.h"

#include <math.h>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_map.h"
#include "kernels/basic/dropout.h"
#include "kernels/basic/linear.h"
#include "kernels/basic/permute.h"
#include "kernels/basic/reshape.h"
#include "kernels/basic/stochastic_depth.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/norm/layer_scale.h"
#include "kernels/pool/pool2d.h"
#include "kernels/tokens/add_positions.h"

SrNodeId sr_token_norm(SrBuilder *b, const char *leaf, SrNodeId x, double eps) {
    return sr_build(b, "layer_norm", leaf, &(SrLayerNormParams){.eps = eps}, x);
}

SrNodeId sr_token_linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features, bool bias,
                         double deviation) {
    SrLinearParams p = {.out_features = out_features, .bias = bias};
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, deviation});
    if (bias)
        sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "linear", leaf, &p, x);
}

SrNodeId sr_token_dropout(SrBuilder *b, const char *leaf, SrNodeId x, double p) {
    return p > 0 ? sr_build(b, "dropout", leaf, &(SrDropoutParams){p}, x) : x;
}

SrNodeId sr_token_mlp(SrBuilder *b, SrNodeId x, const SrTokenMlp *p) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, "mlp", "Mlp");
    x = sr_token_linear(b, p->first ? p->first : "fc1", x, p->width, true, 0.02);
    x = sr_build(b, p->activation ? p->activation : "gelu", "act", NULL, x);
    x = sr_token_dropout(b, "drop", x, p->dropout);
    x = sr_token_linear(b, p->second ? p->second : "fc2", x, dim, true,
                        p->last_deviation > 0 ? p->last_deviation : 0.02);
    x = sr_token_dropout(b, "drop", x, p->dropout);
    sr_builder_pop(b);
    return x;
}

SrNodeId sr_token_scaled(SrBuilder *b, SrNodeId x, const char *gamma, double init) {
    sr_builder_set_entry(b, "weight", gamma);
    return sr_build(b, "layer_scale", "mul", &(SrLayerScaleParams){.init = init}, x);
}

SrNodeId sr_token_residual(SrBuilder *b, SrNodeId x, SrNodeId branch, double drop,
                           const char *gamma, double init) {
    SrStochasticDepthParams depth = {.p = drop};
    if (gamma)
        branch = sr_token_scaled(b, branch, gamma, init);
    if (drop > 0)
        branch = sr_build(b, "stochastic_depth", "drop_path", &depth, branch);
    return sr_build_n(b, "add", "add", NULL, (SrNodeId[]){branch, x}, 2);
}

SrNodeId sr_multihead_attention(SrBuilder *b, SrNodeId x, const SrMultiheadAttention *p) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    SrAttentionParams heads = {.num_heads = p->num_heads, .dropout = p->dropout};
    SrLinearParams linear = {.out_features = 3 * dim, .bias = true};
    sr_builder_push_block(b, "self_attention", "MultiheadAttention");
    sr_builder_set_entry(b, "weight", "in_proj_weight");
    sr_builder_set_entry(b, "bias", "in_proj_bias");
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_UNIFORM, sqrt(1.5 / dim)});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    x = sr_build(b, "linear", "in_proj", &linear, x);
    if (p->last)
        sr_token_attention_map(b, x, p->num_heads, 0);
    x = sr_build(b, "attention", "attention", &heads, x);
    linear.out_features = dim;
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    x = sr_build(b, "linear", "out_proj", &linear, x);
    sr_builder_pop(b);
    return x;
}

SrNodeId sr_xavier_linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_UNIFORM, sqrt(6.0 / (out_features + dim))});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_NORMAL, 1e-6});
    return sr_build(b, "linear", leaf,
                    &(SrLinearParams){.out_features = out_features, .bias = true}, x);
}

SrNodeId sr_token_patches(SrBuilder *b, SrNodeId image, int patch, int dim, bool bias) {
    SrConv2dParams conv = {
        .out_channels = dim, .kernel_h = patch, .stride_h = patch, .groups = 1, .bias = bias};
    return sr_build(b, "conv2d", "proj", &conv, image);
}

SrNodeId sr_token_flatten(SrBuilder *b, const char *leaf, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    x = sr_build(b, "reshape", leaf, &(SrReshapeParams){.d1 = s.d[1] * s.d[2], .d2 = s.d[3]}, x);
    return sr_build(b, "permute", "transpose", &(SrPermuteParams){.channels = SR_CHANNELS_LAST}, x);
}

SrNodeId sr_token_mean(SrBuilder *b, SrNodeId x) {
    SrShape s = sr_build_shape(b, x);
    x = sr_build(b, "reshape", "unsqueeze", &(SrReshapeParams){.d1 = 1, .d2 = s.d[1], .d3 = s.d[2]},
                 x);
    x = sr_build(b, "adaptive_avg_pool2d", "mean", &(SrAdaptivePool2dParams){0}, x);
    return sr_build(b, "flatten", "squeeze", NULL, x);
}

SrNodeId sr_token_attention(SrBuilder *b, SrNodeId qkv, const SrTokenAttention *p) {
    int dim = sr_shape_last(sr_build_shape(b, qkv)) / 3;
    double deviation = p->proj_deviation > 0 ? p->proj_deviation : 0.02;
    SrAttentionParams heads = {.num_heads = p->num_heads, .scale = p->scale, .dropout = p->dropout};
    SrNodeId in[2] = {qkv, p->bias ? *p->bias : SR_NO_NODE};
    if (p->last)
        sr_token_attention_map(b, qkv, p->num_heads, p->scale);
    SrNodeId x = sr_build_n(b, "attention", "attention", &heads, in, p->bias ? 2 : 1);
    x = sr_token_linear(b, "proj", x, dim, true, deviation);
    return sr_token_dropout(b, "proj_drop", x, p->proj_dropout);
}

static SrNodeId block(SrBuilder *b, SrNodeId x, const SrTokenBlock *p, double drop, bool last) {
    int dim = sr_shape_last(sr_build_shape(b, x));
    double eps = p->eps > 0 ? p->eps : 1e-6;
    SrTokenMlp mlp = {.width = p->mlp_width, .dropout = p->dropout, .activation = p->activation};
    SrTokenAttention attention = {.num_heads = p->num_heads,
                                  .scale = p->scale,
                                  .dropout = p->attention_dropout,
                                  .proj_dropout = p->dropout,
                                  .last = last};
    SrNodeId branch = sr_token_norm(b, "norm1", x, eps);
    sr_builder_push_block(b, "attn", "Attention");
    branch = sr_token_linear(b, "qkv", branch, 3 * dim, !p->no_qkv_bias, 0.02);
    branch = sr_token_attention(b, branch, &attention);
    sr_builder_pop(b);
    x = sr_token_residual(b, x, branch, drop, NULL, 0);
    branch = sr_token_mlp(b, sr_token_norm(b, "norm2", x, eps), &mlp);
    return sr_token_residual(b, x, branch, drop, NULL, 0);
}

SrNodeId sr_token_blocks(SrBuilder *b, const char *scope, SrNodeId x, const SrTokenBlock *p, int n,
                         SrNodeId *out) {
    for (int i = 0; i < n; i++) {
        sr_builder_push_numbered(b, "Block", "%s.%d", scope, i);
        x = block(b, x, p, n > 1 ? p->drop_path * i / (n - 1) : 0, p->last && i + 1 == n);
        sr_builder_pop(b);
        if (out)
            out[i] = x;
    }
    return x;
}

SrNodeId sr_token_fixed_positions(SrBuilder *b, const char *name, SrNodeId x, int prefix,
                                  int side) {
    SrAddPositionsParams add = {
        .prefix = prefix, .from_h = side, .from_w = side, .to_h = side, .to_w = side};
    bool frozen = sr_builder_set_frozen(b, true);
    sr_builder_set_entry(b, "positions", name);
    sr_builder_set_init(b, "positions", (SrInit){SR_INIT_SINE_POSITIONS, prefix});
    x = sr_build(b, "add_positions", "add", &add, x);
    sr_builder_set_frozen(b, frozen);
    return x;
}

void sr_token_attention_map(SrBuilder *b, SrNodeId qkv, int heads, double scale) {
    bool aside = sr_builder_set_aside(b, true);
    SrAttentionMapParams p = {.num_heads = heads, .scale = scale};
    sr_build_alias(b, "lastATT", sr_build(b, "attention_map", "softmax", &p, qkv));
    sr_builder_set_aside(b, aside);
}

double sr_token_scale(const SrYaml *qk_scale) {
    switch (qk_scale->type) {
    case SR_YAML_INT:
    case SR_YAML_FLOAT: return qk_scale->f > 0 ? qk_scale->f : -1;
    case SR_YAML_BOOL: return qk_scale->b ? -1 : 0;
    default: return qk_scale->type == SR_YAML_NULL ? 0 : -1;
    }
}
