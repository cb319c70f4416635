// AlexNet of colourisation (Zhang et al., arXiv:1603.08511;
// vissl/models/trunks/alexnet_colorization.py).  Its input is the lightness alone: the first
// channel that MODEL.INPUT_TYPE: lab and the transform ImgPil2LabTensor produce.
#include "kernels/basic/slice.h"
#include "trunks/classic/alexnet_blocks.h"

static const SrAlexnetLayout layout = {
    .channels = {96, 256, 384, 384, 256},
    .stride = 4,
    .padding = 0,
    .groups = 2,
    .batch_norm = {true, true, true, true, true},
    .pool = SR_ALEXNET_PLAIN,
};

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    SrSliceParams first = {.count = 1, .dim = 3};
    SrNodeId x = in->image; // (N, H, W, 3), or the lightness alone
    if (sr_shape_last(sr_build_shape(b, x)) > 1)
        x = sr_build(b, "slice", "split", &first, x);
    return sr_alexnet_build(b, params, &layout, x, out);
}

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 67, 80}};

const SrTrunk sr_trunk_alexnet_colorization = {
    .name = "alexnet_colorization",
    .help = "AlexNet on the lightness of LAB images",
    .subtree = SR_ALEXNETS,
    .options = sr_alexnet_options,
    .params_bytes = sizeof(SrAlexnetParams),
    .param_prefix = "_feature_blocks.",
    .flags = SR_TRUNK_TAKES_LAB,
    .build = build,
    .examples = SR_LIST(examples),
};
