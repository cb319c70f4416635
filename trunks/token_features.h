// VISSL's names of features of transformers: every block's tokens through the last norm, alone or joined.
#ifndef SR_TRUNKS_TOKEN_FEATURES_H
#define SR_TRUNKS_TOKEN_FEATURES_H

#include "graph/builder.h"
#include "trunks/trunk.h"

typedef struct {
    int blocks;
    const SrNodeId *raw;    // what each block gives, (N, L, D)
    const SrNodeId *normed; // the blocks' outputs through the trunk's last norm
    bool class_token;       // token 0
    int n_prefix;           // tokens that are no patches: class token, registers
    int h, w;               // grid of the patches; 0: some of them were dropped
} SrTokenFeatures;

// Aliases: lastBLK (N, L, D) and concatBLK<n> (N, L, n D) of the last n blocks, earlier ones first.  With class token
// also blkCLS<i>, lastCLS (N, D), concatCLS<n> (N, n D; also CONCAT_CLS<n>), lastMAP (N, h, w, D); without it lastPOOL (N, D),
// concatPOOL<n> (N, n D) and stridePOOL_<count>[_<stride>] (N, count D): every stride-th block from the last one
// back and in that order (ceil(blocks / count) where no stride is named); each is the mean over tokens.
// BLCK<i> is block i's tokens through the norm, <i> (timm's feature index) its patches before the norm as a map
// (N, h, w, D).  Fills `out` from the last block.
void sr_token_features(SrBuilder *b, const SrTokenFeatures *f, SrTrunkOutput *out);

// A block's output through the same layer norm as `norm`, where a trunk itself puts the last one's through it alone.
SrNodeId sr_token_norm_again(SrBuilder *b, SrNodeId norm, SrNodeId x);

#endif
