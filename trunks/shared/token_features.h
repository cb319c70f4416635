// Vision transformers share how tokens of an image are made, and VISSL's names for their features:
// the tokens of each block after the last norm, alone or concatenated.
#ifndef SR_TRUNKS_SHARED_TOKEN_FEATURES_H
#define SR_TRUNKS_SHARED_TOKEN_FEATURES_H

#include "graph/ir/builder.h"
#include "trunks/trunk.h"

enum { SR_TOKEN_MAX_BLOCKS = 256 };

// Patches of an image.
typedef struct {
    int h, w;     // patches per column and per row
    bool dropped; // true: not all of them are tokens
} SrTokenLayout;

// Adds patch_embed: (N, H, W, 3) -> (N, h w, D).  grid: gets the number of patches.
SrNodeId sr_patch_tokens(SrBuilder *b, SrNodeId image, int patch, int dim, bool bias,
                         SrTokenLayout *grid);
// Puts the parameter `entry` before the tokens: (N, L, D) -> (N, 1 + L, D).
SrNodeId sr_prepend_token(SrBuilder *b, const char *entry, SrNodeId x);
// Adds the parameter `entry`, positions of side x side patches after `prefix` other tokens; they
// are resampled to the grid.
SrNodeId sr_token_positions(SrBuilder *b, const char *entry, SrNodeId x, int prefix, int side,
                            const SrTokenLayout *grid);
// Gives the first token of each image: (N, L, D) -> (N, D).
SrNodeId sr_first_token(SrBuilder *b, SrNodeId x);
// Makes a map of the patches: (N, n_prefix + h w, D) -> (N, h, w, D).
SrNodeId sr_token_map(SrBuilder *b, SrNodeId x, int n_prefix, const SrTokenLayout *grid);

typedef struct {
    int blocks;
    const SrNodeId *raw; // output of each block, (N, L, D)
    // The blocks' outputs through the trunk's last norm.  NULL: the node "norm" is added to each
    // block, with the same parameters and epsilon `eps`.
    const SrNodeId *normed;
    double eps;
    bool class_token; // true: token 0 is the class token
    int n_prefix;     // number of tokens that are no patches: class token, registers
    SrTokenLayout grid;
} SrTokenFeatures;

// Announces the features and fills `out` from the last block:
//
//   lastBLK, concatBLK<n>        (N, L, D), (N, L, n D): tokens of the last n blocks, earlier first
//   BLCK<i>                      (N, L, D): tokens of block i after the norm
//   <i>                          (N, h, w, D): patches of block i before the norm (timm's index)
//
// with a class token:
//   blkCLS<i>, lastCLS           (N, D)
//   concatCLS<n>, CONCAT_CLS<n>  (N, n D)
//   lastMAP                      (N, h, w, D)
//
// without one, as means over tokens:
//   lastPOOL, concatPOOL<n>      (N, D), (N, n D)
//   stridePOOL_<count>[_<stride>]  (N, count D): every stride-th block, backwards from the last;
//                                the stride is ceil(blocks / count) if none is given
void sr_token_features(SrBuilder *b, const SrTokenFeatures *f, SrTrunkOutput *out);

// Checks the value of QK_SCALE.  SR_ERR_CONFIG names the key below `subtree`.
SrStatus sr_token_scale_check(SrBuilder *b, const char *subtree, const SrYaml *qk_scale);
// Checks sizes of a transformer.  SR_ERR_CONFIG names the keys below `subtree`: the width is no
// multiple of the number of heads, or images are smaller than a patch.
SrStatus sr_token_sizes_check(SrBuilder *b, const char *subtree, int hidden_dim, int heads,
                              int image_size, int patch_size);
// SrTrunk.classify of models that are published without a classifier: `head` is the pooled feature.
SrStatus sr_token_no_classifier(SrBuilder *b, const void *params, const SrPreset *preset,
                                const SrTrunkOutput *features, SrNodeId *logits);

// Adds the layer norm of node `last` to the outputs of the earlier blocks, because the trunk itself
// normalises the last block only.  raw, normed: (blocks)
void sr_token_norms_again(SrBuilder *b, SrNodeId last, const SrNodeId *raw, int blocks,
                          SrNodeId *normed);

#endif
