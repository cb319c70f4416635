// AlexNet of DeepCluster (Caron et al., arXiv:1807.05520;
// vissl/models/trunks/alexnet_deepcluster.py): fixed Sobel filters of the channels' mean,
// followed by one column with batch norms.
#include "base/compiler.h"
#include "kernels/conv/conv2d.h"
#include "trunks/classic/alexnet_blocks.h"

static const SrAlexnetLayout layout = {
    .channels = {96, 256, 384, 384, 256},
    .stride = 4,
    .padding = 2,
    .groups = 1,
    .batch_norm = {true, true, true, true, true},
    .pool = SR_ALEXNET_PLAIN,
};

static SrNodeId filter(SrBuilder *b, const char *leaf, SrNodeId x, SrConv2dParams p, SrInit init) {
    p.padding_w = -1;
    p.groups = 1;
    p.bias = true;
    sr_builder_set_init(b, "weight", init);
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "conv2d", leaf, &p, x);
}

// (N, H, W, C) -> (N, H, W, 2): horizontal and vertical gradient
static SrNodeId sobel(SrBuilder *b, SrNodeId x) {
    sr_builder_push_block(b, "sobel", "Sequential");
    bool frozen = sr_builder_set_frozen(b, true);
    x = filter(b, "0", x, (SrConv2dParams){.out_channels = 1, .kernel_h = 1},
               (SrInit){SR_INIT_CONSTANT, 1.0 / SR_MAX(sr_shape_last(sr_build_shape(b, x)), 1)});
    x = filter(b, "1", x, (SrConv2dParams){.out_channels = 2, .kernel_h = 3, .padding_h = 1},
               (SrInit){SR_INIT_SOBEL, 0});
    sr_builder_set_frozen(b, frozen);
    sr_builder_pop(b);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    SrNodeId x = sobel(b, in->image);
    sr_builder_push(b, "_feature_blocks");
    SR_TRY(sr_alexnet_build(b, params, &layout, x, out));
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 64, 80}};

const SrTrunk sr_trunk_alexnet_deepcluster = {
    .name = "alexnet_deepcluster",
    .help = "AlexNet behind Sobel's filters",
    .subtree = SR_ALEXNETS,
    .options = sr_alexnet_options,
    .params_bytes = sizeof(SrAlexnetParams),
    .build = build,
    .examples = SR_LIST(examples),
};
