// ShuffleNetV2 (Ma et al., arXiv:1807.11164) with torchvision's layers and names.  The shuffle
// after each block's cat is one node here, view_1; torchvision's steps on the way to it are
// remarks.

#include "kernels/basic/channel_shuffle.h"
#include "kernels/basic/concat.h"
#include "kernels/basic/slice.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/trunk.h"

enum { STAGES = 3 };
typedef struct {
    SrInts repeats, channels;
} Shufflenet;

#define FIELD(f) offsetof(Shufflenet, f)
static const SrOption options[] = {
    {"STAGES_REPEATS", SR_OPT_INTS, FIELD(repeats), "[4, 8, 4]", 1, 1000,
     .help = "Number of blocks in each of the three stages."},
    {"STAGES_OUT_CHANNELS", SR_OPT_INTS, FIELD(channels), "[24, 116, 232, 464, 1024]", 1, 1 << 20,
     .help = "Number of channels of the stem, of each stage (an even number) and of the last "
             "convolution."},
    SR_OPTION_END,
};
#undef FIELD

// Adds modules <i> (convolution), <i + 1> (norm) and <i + 2> (ReLU) with PyTorch's initialisation.
static SrNodeId conv(SrBuilder *b, int i, SrNodeId x, int channels, int kernel, int stride,
                     int groups, bool relu) {
    x = sr_conv(b, sr_leaf(i).s, x, channels, kernel, stride, groups);
    x = sr_build(b, "batch_norm", sr_leaf(i + 1).s, NULL, x);
    return relu ? sr_build(b, "relu", sr_leaf(i + 2).s, NULL, x) : x;
}

// Adds the branch of a block that halves the resolution: depthwise, then 1x1.
static SrNodeId first_branch(SrBuilder *b, SrNodeId x, int channels) {
    int in = sr_shape_last(sr_build_shape(b, x));
    sr_builder_push_block(b, "branch1", "Sequential");
    x = conv(b, 0, x, in, 3, 2, in, false);
    x = conv(b, 2, x, channels, 1, 1, 1, true);
    sr_builder_pop(b);
    return x;
}

static SrNodeId second_branch(SrBuilder *b, SrNodeId x, int channels, int stride) {
    sr_builder_push_block(b, "branch2", "Sequential");
    x = conv(b, 0, x, channels, 1, 1, 1, true);
    x = conv(b, 3, x, channels, 3, stride, channels, false);
    x = conv(b, 5, x, channels, 1, 1, 1, true);
    sr_builder_pop(b);
    return x;
}

// torchvision's channel_shuffle reads the four sizes, splits the channels into (2, C / 2) and
// exchanges these two axes.
static SrNodeId shuffle(SrBuilder *b, SrNodeId x) {
    static const char *const sizes[] = {"size",    "getitem", "getitem",
                                        "getitem", "getitem", "floordiv"};
    for (int i = 0; i < SR_COUNT(sizes); i++)
        sr_build_remark(b, sizes[i], NULL);
    SrShape s = sr_build_shape(b, x);
    int half = s.d[3] / 2;
    SrShape split = {.rank = 5, .d = {s.d[0], 2, half, s.d[1], s.d[2]}};
    SrShape exchanged = {.rank = 5, .d = {s.d[0], half, 2, s.d[1], s.d[2]}};
    sr_build_remark(b, "view", &split);
    sr_build_remark(b, "transpose", &exchanged);
    sr_build_remark(b, "contiguous", &exchanged);
    return sr_build(b, "channel_shuffle", "view", &(SrChannelShuffleParams){2}, x);
}

// A block of stride 1 leaves half of the channels unchanged.
static SrNodeId block(SrBuilder *b, SrNodeId x, int channels, int stride) {
    SrNodeId half[2] = {x, x};
    if (stride == 1) {
        sr_build_remark(b, "chunk", NULL);
        for (int i = 0; i < 2; i++)
            half[i] =
                sr_build(b, "slice", "getitem",
                         &(SrSliceParams){.begin = i * channels, .count = channels, .dim = 3}, x);
    } else {
        half[0] = first_branch(b, x, channels);
    }
    half[1] = second_branch(b, half[1], channels, stride);
    return shuffle(b, sr_build_n(b, "concat", "cat", &(SrConcatParams){3}, half, 2));
}

static SrNodeId stage(SrBuilder *b, const Shufflenet *p, int s, SrNodeId x) {
    sr_builder_push_numbered(b, "Sequential", "stage%d", s + 2);
    for (int i = 0; i < p->repeats.v[s]; i++) {
        sr_builder_push_numbered(b, "InvertedResidual", "%d", i);
        x = block(b, x, p->channels.v[s + 1] / 2, i == 0 ? 2 : 1);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "%d", s + 1); // timm's index
    return x;
}

static SrStatus check(SrBuilder *b, const Shufflenet *p) {
    if (p->repeats.n != STAGES || p->channels.n != STAGES + 2)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.SHUFFLENET_V2: STAGES_REPEATS has %d numbers and "
                               "STAGES_OUT_CHANNELS %d, expected %d and %d",
                               p->repeats.n, p->channels.n, STAGES, STAGES + 2);
    for (int s = 1; s <= STAGES; s++)
        if (p->channels.v[s] % 2)
            return sr_builder_fail(b, SR_ERR_CONFIG,
                                   "MODEL.TRUNK.SHUFFLENET_V2.STAGES_OUT_CHANNELS: %d is odd; "
                                   "expected an even number, since a stage's channels are halved",
                                   p->channels.v[s]);
    return SR_OK;
}

static SrNodeId around(SrBuilder *b, const char *scope, SrNodeId x, int channels, int kernel,
                       int stride) {
    sr_builder_push_block(b, scope, "Sequential");
    x = conv(b, 0, x, channels, kernel, stride, 1, true);
    sr_builder_pop(b);
    return x;
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Shufflenet *p = params;
    SR_TRY(check(b, p));
    SrNodeId x = around(b, "conv1", in->image, p->channels.v[0], 3, 2);
    sr_build_alias(b, "0", x);
    SrPool2dParams pool = {.kernel_h = 3, .stride_h = 2, .padding_h = 1, .padding_w = -1};
    x = sr_build(b, "max_pool2d", "maxpool", &pool, x);
    for (int s = 0; s < STAGES; s++)
        x = stage(b, p, s, x);
    x = around(b, "conv5", x, p->channels.v[STAGES + 1], 1, 1);
    out->map = x;
    out->pooled = sr_build(b, "mean", "mean", NULL, x);
    sr_build_alias(b, "flatten", out->pooled);
    return sr_builder_status(b);
}

// clang-format off
static const SrPreset presets[] = {
    {"shufflenet_v2_x0_5", "{STAGES_OUT_CHANNELS: [24, 48, 96, 192, 1024]}", "fc", 1000},
    {"shufflenet_v2_x1_0", "{}", "fc", 1000},
    {"shufflenet_v2_x1_5", "{STAGES_OUT_CHANNELS: [24, 176, 352, 704, 1024]}", "fc", 1000},
    {"shufflenet_v2_x2_0", "{STAGES_OUT_CHANNELS: [24, 244, 488, 976, 2048]}", "fc", 1000},
};
// clang-format on

static const SrTrunkExample examples[] = {
    {"{STAGES_REPEATS: [2, 1, 1], STAGES_OUT_CHANNELS: [8, 16, 24, 32, 40]}", 32, 48}};

const SrTrunk sr_trunk_shufflenet_v2 = {
    .name = "shufflenet_v2",
    .help = "ShuffleNetV2",
    .subtree = "MODEL.TRUNK.SHUFFLENET_V2",
    .options = options,
    .params_bytes = sizeof(Shufflenet),
    .build = build,
    .presets = SR_LIST(presets),
    .examples = SR_LIST(examples),
};
