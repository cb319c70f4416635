// VISSL's names for features of transformers: the tokens of each block after the last norm, alone
// or concatenated.
#ifndef SR_TRUNKS_SHARED_TOKEN_FEATURES_H
#define SR_TRUNKS_SHARED_TOKEN_FEATURES_H

#include "graph/ir/builder.h"
#include "trunks/trunk.h"

typedef struct {
    int blocks;
    const SrNodeId *raw;    // output of each block, (N, L, D)
    const SrNodeId *normed; // the blocks' outputs through the trunk's last norm
    bool class_token;       // true: token 0 is the class token
    int n_prefix;           // number of tokens that are no patches: class token, registers
    int h, w;               // grid of the patches; 0: some patches were dropped
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

// Checks sizes of a transformer.  SR_ERR_CONFIG names the keys below `subtree`: the width is no
// multiple of the number of heads, or images are smaller than a patch.
SrStatus sr_token_sizes_check(SrBuilder *b, const char *subtree, int hidden_dim, int heads,
                              int image_size, int patch_size);
// Adds the layer norm "norm" to the output of each block, with the same parameters.
// raw, normed: (blocks)
void sr_token_norms(SrBuilder *b, const SrNodeId *raw, int blocks, double eps, SrNodeId *normed);

// SrTrunk.classify of models that are published without a classifier: `head` is the pooled feature.
SrStatus sr_token_no_classifier(SrBuilder *b, const void *params, const SrPreset *preset,
                                const SrTrunkOutput *features, SrNodeId *logits);

// Adds the layer norm of node `norm` to another block's output; the trunk itself normalises the
// last block only.
SrNodeId sr_token_norm_again(SrBuilder *b, SrNodeId norm, SrNodeId x);

#endif
