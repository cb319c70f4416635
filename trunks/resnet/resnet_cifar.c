// The ResNets of CIFAR with 6 n + 2 layers: a 3x3 stem and three stages of basic blocks with 16,
// 32 and 64 channels.  For ImageNet's nets on small images, use trunks/resnet/resnet.c with
// SMALL_IMAGE_STEM.
//
// He et al., "Deep residual learning for image recognition" (CVPR 2016), section 4.2, with the
// shortcut of option A: every second pixel, and zeros for new channels.  Layers and names follow
// the nets that people exchange (https://github.com/akamaster/pytorch_resnet_cifar10), which put
// half of the zeros before and half after the channels.
#include "kernels/basic/pad.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/depth.h"
#include "trunks/trunk.h"

typedef struct {
    int depth;
    double width_multiplier;
} ResnetCifar;

#define FIELD(f) offsetof(ResnetCifar, f)
static const SrOption options[] = {
    {"DEPTH", SR_OPT_INT, FIELD(depth), "20", 8, 1202,
     .help = "Number of layers: 6 n + 2, such as 20, 32, 44, 56, 110 or 1202."},
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, FIELD(width_multiplier), "1", 0.0625, 64,
     .help = "Factor on the 16, 32 and 64 channels."},
    SR_OPTION_END,
};
#undef FIELD

static SrNodeId relu(SrBuilder *b, SrNodeId x) { return sr_build(b, "relu", "relu", NULL, x); }

// Takes every second pixel, x[:, :, ::2, ::2], as a mean over windows of one pixel.
// x: (N, H, W, C) -> (N, ceil(H / stride), ceil(W / stride), channels)
static SrNodeId shortcut(SrBuilder *b, SrNodeId x, int channels, int stride) {
    int more = channels - sr_shape_last(sr_build_shape(b, x));
    if (stride == 1 && more == 0)
        return x;
    sr_builder_push_block(b, "shortcut", "LambdaLayer");
    SrPool2dParams every_second = {.kernel_h = 1, .stride_h = stride, .padding_w = -1};
    x = sr_build(b, "avg_pool2d", "getitem", &every_second, x);
    x = sr_build(b, "pad", "pad", &(SrPadParams){.before = more / 2, .after = more - more / 2}, x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId block(SrBuilder *b, SrNodeId x, int channels, int stride) {
    SrNodeId sum[2], y = sr_conv(b, "conv1", x, channels, 3, stride, 1);
    y = relu(b, sr_build(b, "batch_norm", "bn1", NULL, y));
    y = sr_conv(b, "conv2", y, channels, 3, 1, 1);
    sum[0] = sr_build(b, "batch_norm", "bn2", NULL, y);
    sum[1] = shortcut(b, x, channels, stride);
    return relu(b, sr_build_n(b, "add", "add", NULL, sum, 2));
}

// Adds stage s of 0 to 2; VISSL's names count the stem as res1.
static SrNodeId stage(SrBuilder *b, const ResnetCifar *r, SrNodeId x, int s) {
    int channels = (int)((16 << s) * r->width_multiplier);
    sr_builder_push_numbered(b, "Sequential", "layer%d", s + 1);
    for (int i = 0; i < (r->depth - 2) / 6; i++) {
        sr_builder_push_numbered(b, "BasicBlock", "%d", i);
        x = block(b, x, channels, i == 0 && s > 0 ? 2 : 1);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "res%d", s + 2);
    sr_build_alias_numbered(b, x, "%d", s + 1); // timm's out_indices
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const ResnetCifar *r = params;
    if ((r->depth - 2) % 6 != 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.RESNET_CIFAR.DEPTH is %d; expected 6 n + 2, as in 20, "
                               "32, 44, 56 or 110",
                               r->depth);
    SrNodeId x = sr_conv(b, "conv1", in->image, (int)(16 * r->width_multiplier), 3, 1, 1);
    x = relu(b, sr_build(b, "batch_norm", "bn1", NULL, x));
    sr_build_alias(b, "conv1", x);
    sr_build_alias(b, "0", x);
    sr_build_alias(b, "res1", x);
    for (int s = 0; s < 3; s++)
        x = stage(b, r, x, s);
    out->map = x;
    // (N, H, W, C) -> (N, 1, 1, C) -> (N, C); the classifier is a head here.
    x = sr_build(b, "adaptive_avg_pool2d", "avg_pool2d", &(SrAdaptivePool2dParams){0}, x);
    sr_build_alias(b, "res4avg", x);
    x = sr_build(b, "flatten", "view", NULL, x);
    sr_build_alias(b, "flatten", x);
    out->pooled = x;
    return sr_builder_status(b);
}

static int layers(const void *params) {
    (void)params;
    return 3;
}

static const SrPresetPixels pixels[] = {
    {NULL, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 32, SR_FIT_SHORTER}};

static const SrPreset presets[] = {
    {"resnet20", "{DEPTH: 20}", "linear", 10},   {"resnet32", "{DEPTH: 32}", "linear", 10},
    {"resnet44", "{DEPTH: 44}", "linear", 10},   {"resnet56", "{DEPTH: 56}", "linear", 10},
    {"resnet110", "{DEPTH: 110}", "linear", 10},
};

static const SrTrunkExample examples[] = {{"{DEPTH: 8, WIDTH_MULTIPLIER: 0.25}", 32, 24}};

const SrTrunk sr_trunk_resnet_cifar = {
    .name = "resnet_cifar",
    .help = "CIFAR's ResNets of three stages: 20, 32, 44, 56, 110 layers",
    .subtree = "MODEL.TRUNK.RESNET_CIFAR",
    .options = options,
    .params_bytes = sizeof(ResnetCifar),
    .param_prefix = "_feature_blocks.",
    .build = build,
    .layers = layers,
    .depth = sr_depth_of_stages,
    .presets = SR_LIST(presets),
    .pixels = SR_LIST(pixels),
    .examples = SR_LIST(examples),
};
