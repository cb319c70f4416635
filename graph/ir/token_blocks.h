// Parts of VISSL's transformers, which come from timm: layers with their initial values, MLPs and
// branches.
#ifndef SR_GRAPH_IR_TOKEN_BLOCKS_H
#define SR_GRAPH_IR_TOKEN_BLOCKS_H

#include "base/text/yaml.h"
#include "graph/ir/builder.h"

SrNodeId sr_token_norm(SrBuilder *b, const char *leaf, SrNodeId x, double eps);
// Adds a linear layer with normal weights of this deviation and bias 0.  VISSL truncates weights
// at +-2, which is 100 deviations.
SrNodeId sr_token_linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features, bool bias,
                         double deviation);
SrNodeId sr_token_dropout(SrBuilder *b, const char *leaf, SrNodeId x, double p); // none if p is 0

// An MLP of the nodes mlp.<first>, mlp.act, mlp.<second>: x (.., D) -> (.., D).
typedef struct {
    int width;                  // width of the hidden layer
    double dropout;             // probability; 0: no dropout
    double last_deviation;      // deviation of the second layer's weights; 0 means 0.02
    const char *first, *second; // names of the layers; NULL: fc1, fc2
    const char *activation;     // op between the layers; NULL: gelu
} SrTokenMlp;
SrNodeId sr_token_mlp(SrBuilder *b, SrNodeId x, const SrTokenMlp *p);

// Multiplies x by a learned factor per channel: parameter `gamma` of the present scope, initially
// `init`.
SrNodeId sr_token_scaled(SrBuilder *b, SrNodeId x, const char *gamma, double init);
// Returns x + branch.  The branch is scaled by `gamma` (NULL: not scaled) and then left out of
// each image with probability `drop`.
SrNodeId sr_token_residual(SrBuilder *b, SrNodeId x, SrNodeId branch, double drop,
                           const char *gamma, double init);

// torch.nn.MultiheadAttention as in torchvision's ViTs, below "self_attention": in_proj, attention,
// out_proj.  x (N, L, D) -> (N, L, D).
typedef struct {
    int num_heads;
    double dropout; // dropout of attention probabilities
    bool last;      // last block, whose attention map is "lastATT"
} SrMultiheadAttention;
SrNodeId sr_multihead_attention(SrBuilder *b, SrNodeId x, const SrMultiheadAttention *p);
// Adds a linear layer with a weight (K, C) by torch.nn.init.xavier_uniform_ and a normal bias of
// deviation 1e-6.
SrNodeId sr_xavier_linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features);

// Adds `proj`, a convolution of side and stride `patch`:
// (N, H, W, 3) -> (N, H / patch, W / patch, D).
SrNodeId sr_token_patches(SrBuilder *b, SrNodeId image, int patch, int dim, bool bias);
// Flattens (N, h, w, D) -> (N, h w, D), as nodes <leaf> and "transpose".
SrNodeId sr_token_flatten(SrBuilder *b, const char *leaf, SrNodeId x);
// Averages tokens: (N, L, D) -> (N, D).
SrNodeId sr_token_mean(SrBuilder *b, SrNodeId x);

// Adds attention, the layer proj and proj_drop to packed queries, keys and values:
// qkv (N, L, 3 D) -> (N, L, D).
typedef struct {
    int num_heads;
    double scale;          // of the scores; 0: 1 / sqrt(width of a head)
    double dropout;        // of attention probabilities
    double proj_dropout;   // of the result; 0: no node
    double proj_deviation; // of the layer's weights; 0 means 0.02
    const SrNodeId *bias;  // of the scores, (1, heads, L, L); NULL: none
    bool last;             // true: the attention map is "lastATT"
} SrTokenAttention;
SrNodeId sr_token_attention(SrBuilder *b, SrNodeId qkv, const SrTokenAttention *p);

// Adds n of timm's pre-norm blocks below <scope>.0, <scope>.1 and so on: norm1, attn.qkv,
// attn.proj, norm2, mlp.  x (N, L, D) -> (N, L, D).  out: (n) gets the output of each block; NULL:
// not wanted.
typedef struct {
    int num_heads, mlp_width;
    double eps;               // epsilon of the norms; 0: 1e-6
    const char *activation;   // op of the MLP; NULL: gelu
    bool no_qkv_bias;         // true: queries, keys and values have no bias
    double scale;             // of the scores; 0: 1 / sqrt(width of a head)
    double attention_dropout; // of attention probabilities
    double dropout;           // of the attention's output and in the MLP; 0: no nodes
    double drop_path;         // of a branch of the last block; earlier ones have less
    bool last;                // true: the attention map of the last block is "lastATT"
} SrTokenBlock;
SrNodeId sr_token_blocks(SrBuilder *b, const char *scope, SrNodeId x, const SrTokenBlock *p, int n,
                         SrNodeId *out);

// Adds sines and cosines of the place in a square grid to x (N, prefix + side^2, D).  They are
// the entry `name` of the present scope and are not learned (He et al., "Masked autoencoders",
// arXiv:2111.06377, appendix A.1).
SrNodeId sr_token_fixed_positions(SrBuilder *b, const char *name, SrNodeId x, int prefix, int side);

// Adds the node "lastATT" for taps: the attention map (N, heads, L, L) of the last block, from
// packed queries, keys and values.
void sr_token_attention_map(SrBuilder *b, SrNodeId qkv, int heads, double scale);

// Parses QK_SCALE.  0: False or null, the usual factor.  -1: not a number.
double sr_token_scale(const SrYaml *qk_scale);

#endif
