// toy_trunk: one convolution, squared, and a mean; tests/toy.sh adds it to a copy of the tree.
#include "kernels/conv/conv2d.h"
#include "kernels/pool/pool2d.h"
#include "trunks/trunk.h"

typedef struct {
    int width;
} Toy;

static const SrOption options[] = {
    {"WIDTH", SR_OPT_INT, offsetof(Toy, width), "16", 1, 4096, .help = "Channels."},
    SR_OPTION_END,
};

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Toy *p = params;
    SrConv2dParams conv = {
        .out_channels = p->width, .kernel_h = 3, .stride_h = 2, .padding_h = 1, .padding_w = -1};
    SrNodeId x = sr_build(b, "conv2d", "conv1", &conv, in->image); // (N, H/2, W/2, width)
    x = sr_build(b, "toy_square", "square", NULL, x);
    sr_build_alias(b, "res1", x);
    out->map = x;
    x = sr_build(b, "adaptive_avg_pool2d", "avgpool", &(SrAdaptivePool2dParams){0}, x);
    out->pooled = sr_build(b, "flatten", "flatten", NULL, x); // (N, width)
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {{"{WIDTH: 8}", 16, 12}};

const SrTrunk sr_trunk_toy_trunk = {
    .name = "toy_trunk",
    .help = "one convolution",
    .subtree = "MODEL.TRUNK.TOY",
    .options = options,
    .params_bytes = sizeof(Toy),
    .build = build,
    .examples = SR_LIST(examples),
};
