// AlexNet of Caffe's reference model (vissl/models/trunks/alexnet_bvlc.py): responses are
// normalised, then pooled.
//
// VISSL's forward raises a TypeError because of a stale keyword.  This trunk follows its layers.
#include "trunks/classic/alexnet_blocks.h"

static const SrAlexnetLayout layout = {
    .channels = {96, 256, 384, 384, 256},
    .stride = 4,
    .padding = 0,
    .groups = 2,
    .batch_norm = {false, false, false, false, false},
    .pool = SR_ALEXNET_NORM_POOL,
};

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    return sr_alexnet_build(b, params, &layout, in->image, out);
}

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 67, 80}};

const SrTrunk sr_trunk_alexnet_bvlc = {
    .name = "alexnet_bvlc",
    .help = "Caffe's AlexNet, with response normalisation",
    .subtree = SR_ALEXNETS,
    .options = sr_alexnet_options,
    .params_bytes = sizeof(SrAlexnetParams),
    .param_prefix = "_feature_blocks.",
    .build = build,
    .examples = SR_LIST(examples),
};
