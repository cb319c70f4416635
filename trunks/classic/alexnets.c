// VISSL's five AlexNets (vissl/models/trunks/alexnet_*.py): Krizhevsky, Sutskever and Hinton,
// "ImageNet classification with deep convolutional neural networks" (NeurIPS 2012).  All have five
// convolutions, three max-pools and names by number; they differ in padding, groups and
// normalisation.
//
// VISSL's `flatten` leaves a map unchanged (its dim is -1).  Here it gives vectors with the same
// numbers in the same order.
#include "kernels/basic/slice.h"
#include "kernels/conv/conv2d.h"
#include "kernels/norm/local_response_norm.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.ALEXNETS"

typedef struct {
    double width_multiplier;
} Alexnet;

static const SrOption options[] = {
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, offsetof(Alexnet, width_multiplier), "1", 0.015625, 16,
     .help =
         "Factor on the channels of every layer (not in VISSL); a fraction makes a smaller net."},
    SR_OPTION_END,
};

enum { CONVS = 5 };
typedef enum { PLAIN, NORM_POOL, POOL_NORM } Pooling;
typedef struct {
    int channels[CONVS];
    int stride, padding;    // conv1
    int groups;             // conv2, conv4 and conv5
    bool batch_norm[CONVS]; // true: batch norm between convolution and ReLU
    Pooling pool;           // response normalisation at pool1 and pool2
} Layout;

// Adds convolution i, optionally a batch norm, and a ReLU: nodes 0, 1 and, with a norm, 2 of module
// `at`.
static SrNodeId conv(SrBuilder *b, const Alexnet *p, const Layout *l, int i, int at, SrNodeId x) {
    static const int kernel[] = {11, 5, 3, 3, 3};
    SrConv2dParams conv = {.out_channels = (int)(l->channels[i] * p->width_multiplier),
                           .kernel_h = kernel[i],
                           .stride_h = i ? 1 : l->stride,
                           .padding_h = i ? kernel[i] / 2 : l->padding,
                           .padding_w = -1,
                           .groups = i % 2 == 1 || i == 4 ? l->groups : 1,
                           .bias = true};
    sr_builder_push_numbered(b, "Sequential", "%d", at);
    x = sr_build(b, "conv2d", "0", &conv, x);
    if (l->batch_norm[i])
        x = sr_build(b, "batch_norm", "1", NULL, x);
    x = sr_build(b, "relu", l->batch_norm[i] ? "2" : "1", NULL, x);
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "conv%d", i + 1);
    return x;
}

static SrNodeId respond(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_build(b, "local_response_norm", leaf,
                    &(SrLocalResponseNormParams){.size = 5, .alpha = 1e-4, .beta = 0.75, .k = 1},
                    x);
}

static SrNodeId pool(SrBuilder *b, Pooling kind, int i, int at, SrNodeId x) {
    SrPool2dParams window = {.kernel_h = 3, .stride_h = 2, .padding_w = -1};
    if (kind != PLAIN)
        sr_builder_push_numbered(b, "Sequential", "%d", at);
    if (kind == NORM_POOL)
        x = sr_build(b, "max_pool2d", "1", &window, respond(b, "0", x));
    else if (kind == POOL_NORM)
        x = respond(b, "1", sr_build(b, "max_pool2d", "0", &window, x));
    else
        x = sr_build(b, "max_pool2d", sr_leaf(at).s, &window, x);
    if (kind != PLAIN)
        sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "pool%d", i);
    return x;
}

// Adds modules 0 to 8 under the builder's scope and fills `map` (pool5) and `pooled`.
static SrStatus build_layers(SrBuilder *b, const Alexnet *p, const Layout *layout, SrNodeId x,
                             SrTrunkOutput *out) {
    int at = 0;
    for (int i = 0; i < 2; i++) {
        x = conv(b, p, layout, i, at++, x);
        x = pool(b, layout->pool, i + 1, at++, x);
    }
    for (int i = 2; i < CONVS; i++)
        x = conv(b, p, layout, i, at++, x);
    out->map = pool(b, PLAIN, 5, at++, x);
    out->pooled = sr_build(b, "flatten", sr_leaf(at).s, NULL, out->map);
    sr_build_alias(b, "flatten", out->pooled);
    return sr_builder_status(b);
}

// ---- Caffe's reference model: responses are normalised, then pooled.  VISSL's forward raises a
// TypeError because of a stale keyword.  This trunk follows its layers.

static const Layout bvlc = {
    .channels = {96, 256, 384, 384, 256},
    .stride = 4,
    .groups = 2,
    .pool = NORM_POOL,
};

static SrStatus build_bvlc(SrBuilder *b, const void *params, const SrTrunkInput *in,
                           SrTrunkOutput *out) {
    return build_layers(b, params, &bvlc, in->image, out);
}

static const SrTrunkExample sides_67[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 67, 80}};

const SrTrunk sr_trunk_alexnet_bvlc = {
    .name = "alexnet_bvlc",
    .help = "Caffe's AlexNet, with response normalisation",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Alexnet),
    .param_prefix = "_feature_blocks.",
    .build = build_bvlc,
    .examples = SR_LIST(sides_67),
};

// ---- Jigsaw puzzles (Noroozi and Favaro, arXiv:1603.09246): conv1 has stride 2 for small tiles,
// and responses are pooled, then normalised.

static const Layout jigsaw = {
    .channels = {96, 256, 384, 384, 256},
    .stride = 2,
    .groups = 2,
    .batch_norm = {false, false, true, true, true},
    .pool = POOL_NORM,
};

static SrStatus build_jigsaw(SrBuilder *b, const void *params, const SrTrunkInput *in,
                             SrTrunkOutput *out) {
    return build_layers(b, params, &jigsaw, in->image, out);
}

static const SrTrunkExample sides_43[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 43, 64}};

const SrTrunk sr_trunk_alexnet_jigsaw = {
    .name = "alexnet_jigsaw",
    .help = "AlexNet for tiles of a jigsaw puzzle",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Alexnet),
    .param_prefix = "_feature_blocks.",
    .build = build_jigsaw,
    .examples = SR_LIST(sides_43),
};

// ---- RotNet (Gidaris et al., arXiv:1803.07728): one column with batch norms.

static const Layout rotnet = {
    .channels = {64, 192, 384, 256, 256},
    .stride = 4,
    .padding = 2,
    .groups = 1,
    .batch_norm = {true, true, true, true, true},
};

static SrStatus build_rotnet(SrBuilder *b, const void *params, const SrTrunkInput *in,
                             SrTrunkOutput *out) {
    return build_layers(b, params, &rotnet, in->image, out);
}

static const SrTrunkExample sides_64[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 64, 80}};

const SrTrunk sr_trunk_alexnet_rotnet = {
    .name = "alexnet_rotnet",
    .help = "AlexNet with batch norms, in one column",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Alexnet),
    .param_prefix = "_feature_blocks.",
    .build = build_rotnet,
    .examples = SR_LIST(sides_64),
};

// ---- Colourisation (Zhang et al., arXiv:1603.08511): the input is the lightness alone, the first
// channel that MODEL.INPUT_TYPE: lab and the transform ImgPil2LabTensor produce.

static const Layout colorization = {
    .channels = {96, 256, 384, 384, 256},
    .stride = 4,
    .groups = 2,
    .batch_norm = {true, true, true, true, true},
};

static SrStatus build_colorization(SrBuilder *b, const void *params, const SrTrunkInput *in,
                                   SrTrunkOutput *out) {
    SrSliceParams first = {.count = 1, .dim = 3};
    SrNodeId x = in->image; // (N, H, W, 3), or the lightness alone
    if (sr_shape_last(sr_build_shape(b, x)) > 1)
        x = sr_build(b, "slice", "split", &first, x);
    return build_layers(b, params, &colorization, x, out);
}

const SrTrunk sr_trunk_alexnet_colorization = {
    .name = "alexnet_colorization",
    .help = "AlexNet on the lightness of LAB images",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Alexnet),
    .param_prefix = "_feature_blocks.",
    .flags = SR_TRUNK_TAKES_LAB,
    .build = build_colorization,
    .examples = SR_LIST(sides_67),
};

// ---- DeepCluster (Caron et al., arXiv:1807.05520): fixed Sobel filters of the channels' mean,
// followed by one column with batch norms.

static const Layout deepcluster = {
    .channels = {96, 256, 384, 384, 256},
    .stride = 4,
    .padding = 2,
    .groups = 1,
    .batch_norm = {true, true, true, true, true},
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

static SrStatus build_deepcluster(SrBuilder *b, const void *params, const SrTrunkInput *in,
                                  SrTrunkOutput *out) {
    SrNodeId x = sobel(b, in->image);
    sr_builder_push(b, "_feature_blocks");
    SR_TRY(build_layers(b, params, &deepcluster, x, out));
    sr_builder_pop(b);
    return sr_builder_status(b);
}

const SrTrunk sr_trunk_alexnet_deepcluster = {
    .name = "alexnet_deepcluster",
    .help = "AlexNet behind Sobel's filters",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Alexnet),
    .build = build_deepcluster,
    .examples = SR_LIST(sides_64),
};
