// AlexNet of Jigsaw puzzles (Noroozi and Favaro, arXiv:1603.09246;
// vissl/models/trunks/alexnet_jigsaw.py): conv1 has stride 2 for small tiles, and responses are
// pooled, then normalised.
#include "trunks/classic/alexnet_blocks.h"

static const SrAlexnetLayout layout = {
    .channels = {96, 256, 384, 384, 256},
    .stride = 2,
    .padding = 0,
    .groups = 2,
    .batch_norm = {false, false, true, true, true},
    .pool = SR_ALEXNET_POOL_NORM,
};

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    return sr_alexnet_build(b, params, &layout, in->image, out);
}

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 43, 64}};

const SrTrunk sr_trunk_alexnet_jigsaw = {
    .name = "alexnet_jigsaw",
    .help = "AlexNet for tiles of a jigsaw puzzle",
    .subtree = SR_ALEXNETS,
    .options = sr_alexnet_options,
    .params_bytes = sizeof(SrAlexnetParams),
    .param_prefix = "_feature_blocks.",
    .build = build,
    .examples = SR_LIST(examples),
};
