// The pieces of VISSL's transformers (timm's, in origin): layers with their initial values, MLPs, branches.
#ifndef SR_GRAPH_TOKEN_BLOCKS_H
#define SR_GRAPH_TOKEN_BLOCKS_H

#include "base/yaml.h"
#include "graph/builder.h"

SrNodeId sr_token_norm(SrBuilder *b, const char *leaf, SrNodeId x, double eps);
// Weights normal with this deviation (VISSL cuts at +-2, which are 100 deviations), the bias 0.
SrNodeId sr_token_linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features, bool bias,
                         double deviation);
SrNodeId sr_token_dropout(SrBuilder *b, const char *leaf, SrNodeId x, double p); // none if p is 0

// Nodes mlp.<first>, mlp.act, mlp.<second>: x (.., D) -> (.., D).
typedef struct {
    int width;
    double dropout;
    double last_deviation;      // of the second layer's weights; 0: 0.02
    const char *first, *second; // NULL: fc1, fc2
} SrTokenMlp;
SrNodeId sr_token_mlp(SrBuilder *b, SrNodeId x, const SrTokenMlp *p);

// x times a learned factor a channel, the parameter `gamma` of the present scope, which starts at `init`.
SrNodeId sr_token_scaled(SrBuilder *b, SrNodeId x, const char *gamma, double init);
// x + branch, the branch left out of an image with probability `drop`, and before that scaled; gamma NULL: not scaled.
SrNodeId sr_token_residual(SrBuilder *b, SrNodeId x, SrNodeId branch, double drop,
                           const char *gamma, double init);

// torch.nn.MultiheadAttention as torch.nn's ViTs have it, below "self_attention": in_proj, attention, out_proj.  x (N, L, D)
// -> the same.  last: its attention map is "lastATT".
typedef struct {
    int num_heads;
    double dropout; // of attention's probabilities
    bool last;
} SrMultiheadAttention;
SrNodeId sr_multihead_attention(SrBuilder *b, SrNodeId x, const SrMultiheadAttention *p);
// torch.nn.init.xavier_uniform_ of a weight (K, C); the bias normal with a deviation of 1e-6.
SrNodeId sr_xavier_linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features);

// A convolution of side and stride `patch`, patch_embed.proj: (N, H, W, 3) -> (N, H / patch, W / patch, D).
SrNodeId sr_token_patches(SrBuilder *b, SrNodeId image, int patch, int dim);
// (N, h, w, D) -> (N, h w, D), nodes <leaf> and "transpose".
SrNodeId sr_token_flatten(SrBuilder *b, const char *leaf, SrNodeId x);
// (N, L, D) -> (N, D)
SrNodeId sr_token_mean(SrBuilder *b, SrNodeId x);

// A pre-norm block as timm has it, below `scope`: norm1, attn.qkv, attn.proj, norm2, mlp.  x (N, L, D) -> the same.
SrNodeId sr_token_block(SrBuilder *b, const char *scope, SrNodeId x, int num_heads, int mlp_width);

// x (N, prefix + side^2, D) plus sines and cosines of the place in a square grid, which are no parameter to be learned:
// the entry `name` of the present scope (He et al., "Masked autoencoders", arXiv:2111.06377, appendix A.1).
SrNodeId sr_token_fixed_positions(SrBuilder *b, const char *name, SrNodeId x, int prefix, int side);

// "lastATT": the attention of the last block on packed queries, keys and values, (N, heads, L, L), for who taps it.
void sr_token_attention_map(SrBuilder *b, SrNodeId qkv, int heads, double scale);

// QK_SCALE: 0 for what False and null mean, the usual factor; -1 for what is no number.
double sr_token_scale(const SrYaml *qk_scale);

#endif
