// AlexNet of RotNet (Gidaris et al., arXiv:1803.07728; vissl/models/trunks/alexnet_rotnet.py): one
// column with batch norms.
#include "trunks/classic/alexnet_blocks.h"

static const SrAlexnetLayout layout = {
    .channels = {64, 192, 384, 256, 256},
    .stride = 4,
    .padding = 2,
    .groups = 1,
    .batch_norm = {true, true, true, true, true},
    .pool = SR_ALEXNET_PLAIN,
};

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    return sr_alexnet_build(b, params, &layout, in->image, out);
}

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 64, 80}};

const SrTrunk sr_trunk_alexnet_rotnet = {
    .name = "alexnet_rotnet",
    .help = "AlexNet with batch norms, in one column",
    .subtree = SR_ALEXNETS,
    .options = sr_alexnet_options,
    .params_bytes = sizeof(SrAlexnetParams),
    .param_prefix = "_feature_blocks.",
    .build = build,
    .examples = SR_LIST(examples),
};
