// VISSL's two Swin transformers.  They are one net; the official one passes tokens between its
// stages and takes images of one size.
#ifndef SR_TRUNKS_SWIN_SWIN_TRANSFORMER_H
#define SR_TRUNKS_SWIN_SWIN_TRANSFORMER_H

#include "trunks/trunk.h"

#define SR_SWIN_TRANSFORMER "MODEL.TRUNK.SWIN_TRANSFORMER"

typedef struct {
    int image_size, patch_size, embed_dim, window;
    SrInts depths, heads;
    double mlp_ratio, dropout, attention_dropout, drop_path;
    bool qkv_bias;
    const SrYaml *qk_scale;
    bool official; // set by the trunk: stages return tokens, with channels last
} SrSwin;
extern const SrOption sr_swin_options[];

SrStatus sr_swin_build(SrBuilder *b, const SrSwin *p, SrNodeId image, SrTrunkOutput *out);

#endif
