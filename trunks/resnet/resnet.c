// ResNet, wide ResNet and ResNeXt: torchvision's layers and names, VISSL's keys and stages.  The
// CIFAR net of three stages is trunks/resnet/resnet_cifar.c, and the SK variant is
// trunks/resnet/resnet_sk.c.
//
// He et al., "Deep residual learning for image recognition" (CVPR 2016), with the stride on the 3x3
// of a bottleneck ("v1.5"); Xie et al., "Aggregated residual transformations" (CVPR 2017) for
// GROUPS.
//
// Weights start at PyTorch's module defaults.  VISSL builds torchvision's network and then replaces
// every layer, so neither the Kaiming initialisation nor ZERO_INIT_RESIDUAL of the original
// has an effect there.  Here the switch works.

#include "kernels/norm/group_norm.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/depth.h"
#include "trunks/trunk.h"

typedef struct {
    int depth;
    double width_multiplier;
    int norm;
    int groupnorm_groups;
    int groups, width_per_group;
    bool zero_init_residual;
    int layer4_stride;
    bool small_image_stem;
} Resnet;

enum { NORM_BATCH, NORM_LAYER, NORM_GROUP };

#define FIELD(f) offsetof(Resnet, f)
static const SrOption options[] = {
    {"DEPTH", SR_OPT_INT, FIELD(depth), "50", 10, 200,
     .help = "Number of layers: 10, 18, 34, 50, 101, 152 or 200."},
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, FIELD(width_multiplier), "1", 0.015625, 64,
     .help = "Factor on the channels of every stage; a fraction makes a smaller net."},
    {"NORM", SR_OPT_ENUM, FIELD(norm), "BatchNorm", .choices = "BatchNorm|LayerNorm|GroupNorm",
     .help = "Norm layers.  LayerNorm is group norm with one group, as in VISSL."},
    {"GROUPNORM_GROUPS", SR_OPT_INT, FIELD(groupnorm_groups), "32", 1, 65536,
     .help = "Number of groups of GroupNorm."},
    {"STANDARDIZE_CONVOLUTIONS", SR_OPT_IGNORED, 0, "False",
     .help = "VISSL declares the key and does not read it"},
    {"GROUPS", SR_OPT_INT, FIELD(groups), "1", 1, 65536,
     .help = "Number of groups of the 3x3 convolution (ResNeXt: 32)."},
    {"ZERO_INIT_RESIDUAL", SR_OPT_BOOL, FIELD(zero_init_residual), "False",
     .help = "The weights of each block's last norm start at 0, so that a block starts as the "
             "identity."},
    {"WIDTH_PER_GROUP", SR_OPT_INT, FIELD(width_per_group), "64", 1, 65536,
     .help = "Inner channels per group at 64 planes (ResNeXt 32x4d: 4, wide ResNet: 128)."},
    {"LAYER4_STRIDE", SR_OPT_INT, FIELD(layer4_stride), "2", 1, 2,
     .help = "Stride of the last stage: 1 or 2."},
    {"SMALL_IMAGE_STEM", SR_OPT_BOOL, FIELD(small_image_stem), "False",
     .help = "Use a 3x3 stem of stride 1 without max-pool, for images of about 32 pixels."},
    SR_OPTION_END,
};
#undef FIELD

// He et al. 2015, table 1; 10 layers are those of Chen et al., "A Closer Look at Few-shot
// Classification", 2019.
typedef struct {
    int depth;
    bool bottleneck; // three convolutions per block instead of two, four times the channels
    int blocks[4];   // blocks per stage
} Layout;

static const Layout layouts[] = {
    {10, false, {1, 1, 1, 1}},   {18, false, {2, 2, 2, 2}},  {34, false, {3, 4, 6, 3}},
    {50, true, {3, 4, 6, 3}},    {101, true, {3, 4, 23, 3}}, {152, true, {3, 8, 36, 3}},
    {200, true, {3, 24, 36, 3}},
};

static const Layout *layout_of(int depth) {
    for (int i = 0; i < SR_COUNT(layouts); i++)
        if (layouts[i].depth == depth)
            return &layouts[i];
    return NULL;
}

static SrNodeId norm(SrBuilder *b, const Resnet *r, const char *leaf, SrNodeId x) {
    if (r->norm == NORM_BATCH)
        return sr_build(b, "batch_norm", leaf, NULL, x);
    int groups = r->norm == NORM_LAYER ? 1 : r->groupnorm_groups;
    return sr_build(b, "group_norm", leaf, &(SrGroupNormParams){.num_groups = groups, .eps = 1e-5},
                    x);
}

// Adds the norm before the addition.  Its gamma scales the branch in the sum; a start at zero eases
// the first epochs (Goyal et al., "Accurate, large minibatch SGD", 2017, section 5.1).
static SrNodeId last_norm(SrBuilder *b, const Resnet *r, const char *leaf, SrNodeId x) {
    if (r->zero_init_residual)
        sr_builder_set_init(b, "weight", (SrInit){SR_INIT_CONSTANT, 0});
    return norm(b, r, leaf, x);
}

// Adds a ReLU named "relu": torch.fx counts the calls of one module as relu, relu_1, relu_2.
static SrNodeId relu(SrBuilder *b, SrNodeId x) { return sr_build(b, "relu", "relu", NULL, x); }

// Two 3x3 convolutions.  x: (N, H, W, C) -> (N, H/stride, W/stride, planes)
static SrNodeId basic_branch(SrBuilder *b, const Resnet *r, SrNodeId x, int planes, int stride) {
    x = sr_conv(b, "conv1", x, planes, 3, stride, 1);
    x = relu(b, norm(b, r, "bn1", x));
    x = sr_conv(b, "conv2", x, planes, 3, 1, 1);
    return last_norm(b, r, "bn2", x);
}

// 1x1 down, 3x3 in groups, 1x1 up.  x: (N, H, W, C) -> (N, H/stride, W/stride, 4 * planes)
static SrNodeId bottleneck_branch(SrBuilder *b, const Resnet *r, SrNodeId x, int planes,
                                  int stride) {
    // torchvision rounds before it multiplies by the groups.
    int width = (int)(planes * (r->width_per_group / 64.0)) * r->groups;
    if (width < 1)
        sr_builder_fail(b, SR_ERR_CONFIG,
                        "WIDTH_MULTIPLIER %g and WIDTH_PER_GROUP %d leave no inner channels",
                        r->width_multiplier, r->width_per_group);
    x = sr_conv(b, "conv1", x, width, 1, 1, 1);
    x = relu(b, norm(b, r, "bn1", x));
    x = sr_conv(b, "conv2", x, width, 3, stride, r->groups);
    x = relu(b, norm(b, r, "bn2", x));
    x = sr_conv(b, "conv3", x, 4 * planes, 1, 1, 1);
    return last_norm(b, r, "bn3", x);
}

// Adds the shortcut: the identity, or a 1x1 convolution where the shape changes.  It is built after
// the branch, in torchvision's order.
static SrNodeId shortcut(SrBuilder *b, const Resnet *r, SrNodeId x, int channels, int stride) {
    if (stride == 1 && sr_shape_last(sr_build_shape(b, x)) == channels)
        return x;
    sr_builder_push_block(b, "downsample", "Sequential");
    x = sr_conv(b, "0", x, channels, 1, stride, 1);
    x = norm(b, r, "1", x);
    sr_builder_pop(b);
    return x;
}

// relu(branch(x) + shortcut(x))
static SrNodeId block(SrBuilder *b, const Resnet *r, const Layout *layout, SrNodeId x, int planes,
                      int stride) {
    int channels = layout->bottleneck ? 4 * planes : planes;
    SrNodeId sum[2];
    sum[0] = layout->bottleneck ? bottleneck_branch(b, r, x, planes, stride)
                                : basic_branch(b, r, x, planes, stride);
    sum[1] = shortcut(b, r, x, channels, stride);
    return relu(b, sr_build_n(b, "add", "add", NULL, sum, 2));
}

// Adds stage s of 0 to 3: torchvision's layer<s+1>, VISSL's res<s+2>.
static SrNodeId stage(SrBuilder *b, const Resnet *r, const Layout *layout, SrNodeId x, int s) {
    int planes = (int)(64 * r->width_multiplier * (1 << s));
    int stride = s == 0 ? 1 : s == 3 ? r->layer4_stride : 2;
    sr_builder_push_numbered(b, "Sequential", "layer%d", s + 1);
    for (int i = 0; i < layout->blocks[s]; i++) {
        sr_builder_push_numbered(b, layout->bottleneck ? "Bottleneck" : "BasicBlock", "%d", i);
        x = block(b, r, layout, x, planes, i == 0 ? stride : 1);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "res%d", s + 2);
    sr_build_alias_numbered(b, x, "%d", s + 1); // timm's out_indices
    return x;
}

// Adds the stem.  VISSL's stage conv1 comes after the ReLU, unlike torchvision's node of that name.
static SrNodeId stem(SrBuilder *b, const Resnet *r, SrNodeId x) {
    int planes = (int)(64 * r->width_multiplier);
    x = r->small_image_stem ? sr_conv(b, "conv1", x, planes, 3, 1, 1)
                            : sr_conv(b, "conv1", x, planes, 7, 2, 1);
    x = relu(b, norm(b, r, "bn1", x));
    sr_build_alias(b, "conv1", x);
    sr_build_alias(b, "0", x);
    if (!r->small_image_stem) {
        SrPool2dParams pool = {.kernel_h = 3, .stride_h = 2, .padding_h = 1, .padding_w = -1};
        x = sr_build(b, "max_pool2d", "maxpool", &pool, x);
    }
    sr_build_alias(b, "res1", x);
    return x;
}

static SrStatus check(SrBuilder *b, const Resnet *r, const Layout *layout) {
    if (!layout)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "MODEL.TRUNK.RESNETS.DEPTH is %d; expected 10, 18, 34, 50, 101, 152 or 200", r->depth);
    if (!layout->bottleneck && (r->groups != 1 || r->width_per_group != 64))
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "MODEL.TRUNK.RESNETS: depth %d has blocks of two 3x3 convolutions, which allow only "
            "GROUPS 1 and WIDTH_PER_GROUP 64 (got %d and %d); take depth 50 or more",
            r->depth, r->groups, r->width_per_group);
    return SR_OK;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Resnet *r = params;
    const Layout *layout = layout_of(r->depth);
    SR_TRY(check(b, r, layout));
    SrNodeId x = stem(b, r, in->image);
    for (int s = 0; s < 4; s++)
        x = stage(b, r, layout, x, s);
    out->map = x;
    out->pooled = sr_pool_flatten(b, x, "res5avg"); // torchvision's classifier is a head here
    return sr_builder_status(b);
}

static int layers(const void *params) {
    (void)params;
    return 4;
}

// clang-format off
static const SrPreset presets[] = {
    {"resnet18",         "{DEPTH: 18}", "fc", 1000},
    {"resnet34",         "{DEPTH: 34}", "fc", 1000},
    {"resnet50",         "{DEPTH: 50}", "fc", 1000},
    {"resnet101",        "{DEPTH: 101}", "fc", 1000},
    {"resnet152",        "{DEPTH: 152}", "fc", 1000},
    {"resnext50_32x4d",  "{DEPTH: 50, GROUPS: 32, WIDTH_PER_GROUP: 4}", "fc", 1000},
    {"resnext101_32x8d", "{DEPTH: 101, GROUPS: 32, WIDTH_PER_GROUP: 8}", "fc", 1000},
    {"resnext101_64x4d", "{DEPTH: 101, GROUPS: 64, WIDTH_PER_GROUP: 4}", "fc", 1000},
    {"wide_resnet50_2",  "{DEPTH: 50, WIDTH_PER_GROUP: 128}", "fc", 1000},
    {"wide_resnet101_2", "{DEPTH: 101, WIDTH_PER_GROUP: 128}", "fc", 1000},
};
// clang-format on

static const SrTrunkExample examples[] = {
    {"{DEPTH: 18, WIDTH_MULTIPLIER: 0.125}", 32, 48},
    {"{DEPTH: 50, WIDTH_MULTIPLIER: 0.125, GROUPS: 2, NORM: GroupNorm, GROUPNORM_GROUPS: 4}", 32,
     0}};

const SrTrunk sr_trunk_resnet = {
    .name = "resnet",
    .help = "ResNet, wide ResNet and ResNeXt of 10 to 200 layers",
    .subtree = "MODEL.TRUNK.RESNETS",
    .options = options,
    .params_bytes = sizeof(Resnet),
    .param_prefix = "_feature_blocks.",
    .build = build,
    .layers = layers,
    .depth = sr_depth_of_stages,
    .presets = SR_LIST(presets),
    .examples = SR_LIST(examples),
};
