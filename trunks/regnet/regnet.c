// RegNet (Radosavovic et al., arXiv:2003.13678; RegNetZ: Dollar et al., arXiv:2103.06877) as two
// trunks of one builder.  `regnet` has VISSL's keys and names, which are ClassyVision's
// (classy_vision/models/anynet.py, regnet.py); `torchvision_regnet` has torchvision's.
//
// VISSL's net is chosen in one of three ways: by its name, by the numbers of the width rule, or
// with name anynet by the settings of each stage.
#include <math.h>
#include <string.h>

#include "kernels/conv/conv2d.h"
#include "kernels/norm/batch_norm.h"
#include "kernels/pool/pool2d.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/trunk.h"

#define SUBTREE "MODEL.TRUNK.REGNET"

// The rule for widths and depths of stages (arXiv:2003.13678, section 3.3).
typedef struct {
    int depth;         // number of blocks
    double w_0;        // width of the first block
    double w_a, w_m;   // slope of the widths over blocks; ratio of widths between stages
    int group_width;   // channels in a group of the 3x3 convolution
    double bottleneck; // ratio of inner to outer channels: 1
    bool nearest;      // true: ClassyVision's fit of widths to groups, always the nearest multiple
} Rule;

typedef struct {
    const char *name;
    Rule rule;
    SrInts depths, widths, group_widths, strides;
    SrDoubles bottleneck_multipliers;
    int stem_type, stem_width, block_type, activation, activation_type;
    bool use_se;
    double se_ratio, bn_epsilon, bn_momentum;
} Regnet;

enum { STEM_SIMPLE, STEM_CIFAR, STEM_IN };
enum { BLOCK_BOTTLENECK, BLOCK_LINEAR, BLOCK_BASIC, BLOCK_VANILLA };
enum { RELU, SILU };

#define FIELD(f) offsetof(Regnet, f)
// clang-format off
static const SrOption options[] = {
    {"name", SR_OPT_STRING, FIELD(name), "\"\"",
     .help = "Name of a net, such as regnet_y_16gf.  anynet: stages come from the lists depths, widths and so on.  Empty:"
     " stages come from depth, w_0, w_a, w_m and group_width."},
    {"depth", SR_OPT_INT, FIELD(rule.depth), "0", 0, 1000, .help = "Number of blocks in all stages together."},
    {"w_0", SR_OPT_FLOAT, FIELD(rule.w_0), "0", 0, 1e5, .help = "Width of the first block, a multiple of 8."},
    {"w_a", SR_OPT_FLOAT, FIELD(rule.w_a), "0", 0, 1e5, .help = "Slope of the width from block to block."},
    {"w_m", SR_OPT_FLOAT, FIELD(rule.w_m), "0", 0, 100, .help = "Ratio of the widths of consecutive stages, above 1."},
    {"group_width", SR_OPT_INT, FIELD(rule.group_width), "0", 0, 1 << 16,
     .help = "Number of channels per group in the 3x3 convolution."},
    {"bottleneck_multiplier", SR_OPT_FLOAT, FIELD(rule.bottleneck), "1", 0.01, 100,
     .help = "Channels inside a block, as a multiple of those outside."},
    {"depths", SR_OPT_INTS, FIELD(depths), "[]", 1, 1000, .help = "anynet: number of blocks in each stage."},
    {"widths", SR_OPT_INTS, FIELD(widths), "[]", 1, 1 << 20, .help = "anynet: number of channels in each stage."},
    {"group_widths", SR_OPT_INTS, FIELD(group_widths), "[]", 1, 1 << 20,
     .help = "anynet: number of channels per group in each stage."},
    {"bottleneck_multipliers", SR_OPT_FLOATS, FIELD(bottleneck_multipliers), "[]", 0.01, 100,
     .help = "anynet: channels inside a block, as a multiple of those outside, in each stage."},
    {"strides", SR_OPT_INTS, FIELD(strides), "[]", 1, 4, .help = "anynet: stride of each stage's first block."},
    {"stem_type", SR_OPT_ENUM, FIELD(stem_type), "simple_stem_in", .choices = "simple_stem_in|res_stem_cifar|res_stem_in",
     .help = "Stem.  simple_stem_in: 3x3 convolution of stride 2; res_stem_cifar: 3x3 of stride 1; res_stem_in: 7x7 of"
     " stride 2 and a max-pool."},
    {"stem_width", SR_OPT_INT, FIELD(stem_width), "32", 1, 1 << 16, .help = "Number of channels of the stem."},
    {"block_type", SR_OPT_ENUM, FIELD(block_type), "res_bottleneck_block", .choices = "res_bottleneck_block|res_bottleneck_linear_block|res_basic_block|vanilla_block",
     .help = "Block.  res_bottleneck_block: 1x1, 3x3 and 1x1 convolutions with a shortcut; res_bottleneck_linear_block:"
     " without the activation after it; res_basic_block: two 3x3 with a shortcut; vanilla_block: two 3x3 without."},
    {"activation", SR_OPT_ENUM, FIELD(activation), "relu", .choices = "relu|silu", .help = "Activation of all layers."},
    {"activation_type", SR_OPT_ENUM, FIELD(activation_type), "relu", .choices = "relu|silu",
     .help = "Another name of `activation`; silu in one of the two keys means silu."},
    {"use_se", SR_OPT_BOOL, FIELD(use_se), "True", .help = "Use squeeze-excitation in the bottleneck (RegNetY)."},
    {"se_ratio", SR_OPT_FLOAT, FIELD(se_ratio), "0.25", 0, 4,
     .help = "Channels inside squeeze-excitation, as a share of those before the block."},
    {"bn_epsilon", SR_OPT_FLOAT, FIELD(bn_epsilon), "1e-5", 1e-12, 1, .help = "Epsilon of batch norms."},
    {"bn_momentum", SR_OPT_FLOAT, FIELD(bn_momentum), "0.1", 0, 1,
     .help = "Momentum of batch norms: share of the batch in the running statistics."},
    {"stage_checkpoints", SR_OPT_IGNORED, 0, "[]",
     .help = "MODEL.ACTIVATION_CHECKPOINTING and MACHINE.RECOMPUTE decide what is recomputed"},
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

static const struct {
    const char *name;
    int depth;
    double w_0, w_a, w_m;
    int group_width;
} named[] = {
    {"regnet_y_400mf", 16, 48, 27.89, 2.09, 8},     {"regnet_y_800mf", 14, 56, 38.84, 2.4, 16},
    {"regnet_y_1.6gf", 27, 48, 20.71, 2.65, 24},    {"regnet_y_3.2gf", 21, 80, 42.63, 2.66, 24},
    {"regnet_y_8gf", 17, 192, 76.82, 2.19, 56},     {"regnet_y_16gf", 18, 200, 106.23, 2.48, 112},
    {"regnet_y_32gf", 20, 232, 115.89, 2.53, 232},  {"regnet_y_64gf", 20, 352, 147.48, 2.4, 328},
    {"regnet_y_128gf", 27, 456, 160.83, 2.52, 264}, {"regnet_y_256gf", 27, 640, 124.47, 2.04, 848},
    {"regnet_y_10b", 27, 1744, 620.83, 2.52, 1010}, {"regnet_x_400mf", 22, 24, 24.48, 2.54, 16},
    {"regnet_x_800mf", 16, 56, 35.73, 2.28, 16},    {"regnet_x_1.6gf", 18, 80, 34.01, 2.25, 24},
    {"regnet_x_3.2gf", 25, 88, 26.31, 2.25, 48},    {"regnet_x_8gf", 23, 80, 49.56, 2.88, 120},
    {"regnet_x_16gf", 22, 216, 55.59, 2.1, 128},    {"regnet_x_32gf", 23, 320, 69.86, 2.0, 168},
    {"regnet_z_500mf", 21, 16, 10.7, 2.51, 4},      {"regnet_z_4gf", 28, 48, 14.5, 2.226, 8},
};

typedef struct {
    int width, group_width, blocks, stride;
    double bottleneck;
} Stage;
enum { MAX_STAGES = 16, MAX_RULE_STAGES = 8 };
typedef struct {
    bool torchvision;       // names and initial values of torchvision, else VISSL's
    const char *activation; // name of an op
    int stem_type, stem_width, block_type;
    double se_ratio;      // 0: none
    double eps, momentum; // of batch norms
    int n;
    Stage stage[MAX_STAGES];
} Net;

// Makes the width of a stage a multiple of its group width.
static void fit_groups(const Rule *p, Stage *s) {
    int inner = SR_MAX((int)(s->width * p->bottleneck), 1);
    int group = p->group_width < inner ? p->group_width : inner;
    int whole =
        p->nearest ? (int)rint((double)inner / group) * group : sr_make_divisible(inner, group);
    s->group_width = group;
    s->width = (int)(whole / p->bottleneck);
}

// Computes block widths on the line w_0 + w_a i, rounded to w_0 w_m^k and then to multiples of 8.
// Blocks of equal width form a stage.  Returns the number of blocks, which is less than `depth` if
// there are more stages than MAX_RULE_STAGES.
static int fill_stages(const Rule *p, Net *net) {
    int blocks = 0;
    net->n = 0;
    for (int i = 0; i < p->depth; i++) {
        double line = p->w_0 + p->w_a * i, k = rint(log(line / p->w_0) / log(p->w_m));
        int width = (int)(rint(p->w_0 * pow(p->w_m, k) / 8) * 8);
        if (net->n > 0 && net->stage[net->n - 1].width == width)
            net->stage[net->n - 1].blocks++;
        else if (net->n < MAX_RULE_STAGES)
            net->stage[net->n++] =
                (Stage){.width = width, .blocks = 1, .stride = 2, .bottleneck = p->bottleneck};
    }
    for (int s = 0; s < net->n; s++) {
        fit_groups(p, &net->stage[s]);
        blocks += net->stage[s].blocks;
    }
    return blocks;
}

// ---- which net of VISSL

// RegNetX has no squeeze-excitation.  RegNetZ has inverted bottlenecks with linear ends and SiLU.
static SrStatus apply_name(SrBuilder *b, const Regnet *p, Net *net, Rule *rule) {
    int i = 0;
    while (i < SR_COUNT(named) && strcmp(named[i].name, p->name) != 0)
        i++;
    if (i == SR_COUNT(named))
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ".name is %s; expected anynet or a name like regnet_y_16gf, "
                                       "regnet_x_1.6gf, regnet_z_4gf",
                               p->name);
    if (p->rule.depth)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            SUBTREE ": name %s and depth %d describe different nets; give one of the two", p->name,
            p->rule.depth);
    rule->depth = named[i].depth;
    rule->w_0 = named[i].w_0;
    rule->w_a = named[i].w_a;
    rule->w_m = named[i].w_m;
    rule->group_width = named[i].group_width;
    char family = p->name[strlen("regnet_")];
    if (family == 'x')
        net->se_ratio = 0;
    if (family == 'z') {
        rule->bottleneck = 4;
        net->block_type = BLOCK_LINEAR;
        net->activation = "silu";
    }
    return SR_OK;
}

static SrStatus check_numbers(SrBuilder *b, const Rule *l) {
    if (l->depth < 1 || l->w_0 < 8 || fmod(l->w_0, 8) != 0 || l->w_m <= 1 || l->group_width < 1)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE " needs a name, or depth, w_0 (a multiple of 8), w_a, w_m "
                                       "(above 1) and group_width; got %d, %g, %g, %g, %d",
                               l->depth, l->w_0, l->w_a, l->w_m, l->group_width);
    return SR_OK;
}

static SrStatus stages_of_numbers(SrBuilder *b, const Rule *p, Net *net) {
    SR_TRY(check_numbers(b, p));
    if (fill_stages(p, net) != p->depth)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ": w_m %g makes more than %d stages; it must be larger",
                               p->w_m, MAX_RULE_STAGES);
    return SR_OK;
}

static SrStatus stages_of_lists(SrBuilder *b, const Regnet *p, Net *net) {
    net->n = p->depths.n;
    if (net->n < 1 || net->n > MAX_STAGES || p->widths.n != net->n || p->strides.n != net->n ||
        p->group_widths.n != net->n || p->bottleneck_multipliers.n != net->n)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               SUBTREE ": anynet needs depths, widths, group_widths, "
                                       "bottleneck_multipliers and strides of one length, 1 to %d",
                               MAX_STAGES);
    for (int s = 0; s < net->n; s++)
        net->stage[s] = (Stage){p->widths.v[s], p->group_widths.v[s], p->depths.v[s],
                                p->strides.v[s], p->bottleneck_multipliers.v[s]};
    return SR_OK;
}

static int inner_width(const Stage *s) { return (int)rint(s->width * s->bottleneck); }

static SrStatus check_groups(SrBuilder *b, const Net *net) {
    for (int s = 0; s < net->n; s++) {
        int inner = inner_width(&net->stage[s]);
        int groups = inner / net->stage[s].group_width;
        if (net->block_type <= BLOCK_LINEAR && (groups < 1 || inner % groups))
            return sr_builder_fail(
                b, SR_ERR_CONFIG,
                SUBTREE
                ": stage %d has %d channels inside, which is no multiple of its group width %d",
                s + 1, inner, net->stage[s].group_width);
    }
    return SR_OK;
}

static SrStatus resolve(SrBuilder *b, const Regnet *p, Net *net) {
    Rule rule = p->rule;
    rule.nearest = true;
    bool silu = p->activation == SILU || p->activation_type == SILU;
    *net = (Net){.activation = silu ? "silu" : "relu",
                 .stem_type = p->stem_type,
                 .stem_width = p->stem_width,
                 .block_type = p->block_type,
                 .se_ratio = p->use_se ? p->se_ratio : 0,
                 .eps = p->bn_epsilon,
                 .momentum = p->bn_momentum};
    if (strcmp(p->name, "anynet") == 0) {
        SR_TRY(stages_of_lists(b, p, net));
    } else {
        if (p->name[0])
            SR_TRY(apply_name(b, p, net, &rule));
        SR_TRY(stages_of_numbers(b, &rule, net));
    }
    return check_groups(b, net);
}

// ---- layers

// All of VISSL's convolutions start with deviation sqrt(2 / (R S K)).
static double deviation(int kernel, int channels) { return sqrt(2.0 / kernel / kernel / channels); }

// Adds a convolution of VISSL's net.  Biases keep PyTorch's initialisation.
static SrNodeId conv(SrBuilder *b, const char *leaf, SrNodeId x, int channels, int kernel,
                     int stride, bool bias) {
    SrConv2dParams p = {.out_channels = channels,
                        .kernel_h = kernel,
                        .stride_h = stride,
                        .padding_h = kernel / 2,
                        .padding_w = -1,
                        .groups = 1,
                        .bias = bias};
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, deviation(kernel, channels)});
    return sr_build(b, "conv2d", leaf, &p, x);
}

static SrNodeId norm(SrBuilder *b, const Net *net, const char *leaf, SrNodeId x) {
    SrBatchNormParams p = {.eps = net->eps, .momentum = net->momentum};
    return sr_build(b, "batch_norm", leaf, &p, x);
}

// Adds nodes <scope>.0 to <scope>.2: convolution, norm, activation.
static SrNodeId layer(SrBuilder *b, const Net *net, const char *scope, SrNodeId x, SrConvNorm p) {
    p.activation = net->activation;
    p.eps = net->eps;
    p.momentum = net->momentum;
    p.deviation = net->torchvision ? 0 : deviation(p.kernel, p.channels);
    p.class_name = net->torchvision ? NULL : "Sequential";
    return sr_conv_norm(b, scope, x, &p);
}

// Adds a 1x1 convolution and its norm without an activation: nodes <scope>.0 and <scope>.1 of
// torchvision, nodes <scope> and <leaf> of VISSL.
static SrNodeId projection(SrBuilder *b, const Net *net, const char *scope, const char *leaf,
                           SrNodeId x, int channels, int stride) {
    SrConvNorm p = {.channels = channels, .kernel = 1, .stride = stride};
    if (net->torchvision)
        return sr_conv_norm(b, scope, x, &p);
    return norm(b, net, leaf, conv(b, scope, x, channels, 1, stride, false));
}

static SrNodeId squeeze_excitation(SrBuilder *b, const Net *net, SrNodeId x, int squeeze) {
    int channels = sr_shape_last(sr_build_shape(b, x));
    SrSqueezeExcitation gate = {squeeze, net->activation, "sigmoid", .names = NULL};
    if (net->torchvision)
        return sr_squeeze_excitation(b, "se", x, &gate);
    sr_builder_push_block(b, "se", "SqueezeAndExcitationLayer");
    SrNodeId s = sr_build(b, "adaptive_avg_pool2d", "avgpool", &(SrAdaptivePool2dParams){0}, x);
    sr_builder_push_block(b, "excitation", "Sequential");
    s = sr_build(b, net->activation, "1", NULL, conv(b, "0", s, squeeze, 1, 1, true));
    s = sr_build(b, "sigmoid", "3", NULL, conv(b, "2", s, channels, 1, 1, true));
    sr_builder_pop(b);
    x = sr_build_n(b, "mul", "mul", NULL, (SrNodeId[]){x, s}, 2);
    sr_builder_pop(b);
    return x;
}

static SrNodeId bottleneck(SrBuilder *b, const Net *net, const Stage *s, SrNodeId x, int stride) {
    int in = sr_shape_last(sr_build_shape(b, x)), inner = inner_width(s);
    SrConvNorm grouped = {
        .channels = inner, .kernel = 3, .stride = stride, .groups = inner / s->group_width};
    sr_builder_push_block(b, "f", "BottleneckTransform");
    x = layer(b, net, "a", x, (SrConvNorm){.channels = inner, .kernel = 1});
    x = layer(b, net, "b", x, grouped);
    if (net->se_ratio > 0)
        x = squeeze_excitation(b, net, x, SR_MAX(1, (int)rint(net->se_ratio * in)));
    x = projection(b, net, "c", "final_bn", x, s->width, 1);
    sr_builder_pop(b);
    return x;
}

static SrNodeId basic(SrBuilder *b, const Net *net, const Stage *s, SrNodeId x, int stride) {
    sr_builder_push_block(b, "f", "BasicTransform");
    sr_builder_push_block(b, "a", "Sequential");
    x = norm(b, net, "1", conv(b, "0", x, s->width, 3, stride, false));
    x = conv(b, "3", sr_build(b, net->activation, "2", NULL, x), s->width, 3, 1, false);
    sr_builder_pop(b);
    x = norm(b, net, "final_bn", x);
    sr_builder_pop(b);
    return x;
}

static SrNodeId vanilla(SrBuilder *b, const Net *net, const Stage *s, SrNodeId x, int stride) {
    SrConvNorm p = {.channels = s->width, .kernel = 3, .stride = stride};
    x = layer(b, net, "a", x, p);
    p.stride = 1;
    return layer(b, net, "b", x, p);
}

// activation(shortcut(x) + branch(x)); the linear block has no projection and no activation.
static SrNodeId block(SrBuilder *b, const Net *net, const Stage *s, SrNodeId x, int stride) {
    bool same = stride == 1 && sr_shape_last(sr_build_shape(b, x)) == s->width;
    SrNodeId sum[2] = {x, SR_NO_NODE};
    if (net->block_type == BLOCK_VANILLA)
        return vanilla(b, net, s, x, stride);
    if (!same && net->block_type != BLOCK_LINEAR)
        sum[0] = projection(b, net, "proj", "bn", x, s->width, stride);
    sum[1] = net->block_type == BLOCK_BASIC ? basic(b, net, s, x, stride)
                                            : bottleneck(b, net, s, x, stride);
    if (net->block_type == BLOCK_LINEAR)
        return same ? sr_build_n(b, "add", "add", NULL, sum, 2) : sum[1];
    x = sr_build_n(b, "add", "add", NULL, sum, 2);
    return sr_build(b, net->activation, "activation", NULL, x);
}

static SrNodeId stem(SrBuilder *b, const Net *net, SrNodeId x) {
    static const char *const classes[] = {"SimpleStemIN", "ResStemCifar", "ResStemIN"};
    int type = net->stem_type;
    SrPool2dParams pool = {.kernel_h = 3, .stride_h = 2, .padding_h = 1, .padding_w = -1};
    if (!net->torchvision)
        sr_builder_push_block(b, "conv1", classes[type]);
    x = layer(b, net, "stem", x,
              (SrConvNorm){.channels = net->stem_width,
                           .kernel = type == STEM_IN ? 7 : 3,
                           .stride = type == STEM_CIFAR ? 1 : 2});
    if (type == STEM_IN)
        x = sr_build(b, "max_pool2d", "stem.3", &pool, x);
    if (!net->torchvision) {
        sr_builder_pop(b);
        sr_build_alias(b, "conv1", x);
    }
    sr_build_alias(b, "0", x); // timm's indices
    return x;
}

static SrNodeId stage(SrBuilder *b, const Net *net, int s, SrNodeId x) {
    if (net->torchvision)
        sr_builder_push_numbered(b, "AnyStage", "block%d", s + 1);
    else
        sr_builder_push_numbered(b, "AnyStage", "res%d", s + 2);
    for (int i = 0; i < net->stage[s].blocks; i++) {
        sr_builder_push_numbered(b, "ResBottleneckBlock", "block%d-%d", s + 1, i);
        x = block(b, net, &net->stage[s], x, i == 0 ? net->stage[s].stride : 1);
        sr_builder_pop(b);
    }
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "res%d", s + 2);
    sr_build_alias_numbered(b, x, "%d", s + 1);
    return x;
}

static SrStatus build_net(SrBuilder *b, const Net *net, const SrTrunkInput *in,
                          SrTrunkOutput *out) {
    SrNodeId x = stem(b, net, in->image);
    if (net->torchvision)
        sr_builder_push_block(b, "trunk_output", "Sequential");
    for (int s = 0; s < net->n; s++)
        x = stage(b, net, s, x);
    if (net->torchvision)
        sr_builder_pop(b);
    out->map = x;
    out->pooled = sr_pool_flatten(b, x, net->torchvision ? NULL : "avgpool");
    return sr_builder_status(b);
}

// ---- VISSL's trunk

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    Net net;
    SR_TRY(resolve(b, params, &net));
    return build_net(b, &net, in, out);
}

static const SrTrunkExample examples[] = {
    {"{depth: 3, w_0: 8, w_a: 8, w_m: 2, group_width: 4, stem_width: 8}", 32, 48},
    {"{name: anynet, depths: [1, 2], widths: [8, 16], group_widths: [4, 8], strides: [1, 2], "
     "bottleneck_multipliers: [2, 1], stem_width: 8, stem_type: res_stem_in, "
     "block_type: res_bottleneck_linear_block, activation: silu}",
     32, 0},
    {"{depth: 2, w_0: 8, w_a: 8, w_m: 2, group_width: 8, stem_width: 4, stem_type: res_stem_cifar, "
     "block_type: res_basic_block}",
     16, 0},
    {"{depth: 2, w_0: 8, w_a: 8, w_m: 2, group_width: 8, stem_width: 4, block_type: vanilla_block}",
     16, 0}};

const SrTrunk sr_trunk_regnet = {
    .name = "regnet",
    .help = "RegNetX, RegNetY, RegNetZ and AnyNet as VISSL and ClassyVision have them",
    .subtree = SUBTREE,
    .options = options,
    .params_bytes = sizeof(Regnet),
    .param_prefix = "_feature_blocks.",
    .build = build,
    .examples = SR_LIST(examples),
};

// ---- torchvision's trunk

typedef struct {
    Rule rule;
    double se_ratio;
} TorchvisionRegnet;

#define FIELD(f) offsetof(TorchvisionRegnet, f)
static const SrOption torchvision_options[] = {
    {"DEPTH", SR_OPT_INT, FIELD(rule.depth), "16", 1, 1000, .help = "Blocks."},
    {"W_0", SR_OPT_FLOAT, FIELD(rule.w_0), "48", 8, 1e5, .help = "Width of the first block."},
    {"W_A", SR_OPT_FLOAT, FIELD(rule.w_a), "27.89", 0, 1e5,
     .help = "Slope of the width from block to block."},
    {"W_M", SR_OPT_FLOAT, FIELD(rule.w_m), "2.09", 1.01, 100,
     .help = "Ratio of the widths of consecutive stages."},
    {"GROUP_WIDTH", SR_OPT_INT, FIELD(rule.group_width), "8", 1, 1 << 16,
     .help = "Number of channels per group in the 3x3 convolution."},
    {"SE_RATIO", SR_OPT_FLOAT, FIELD(se_ratio), "0", 0, 4,
     .help = "Channels inside squeeze-excitation, as a share of those before the block; 0: no "
             "squeeze-excitation (RegNetX)."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus build_torchvision(SrBuilder *b, const void *params, const SrTrunkInput *in,
                                  SrTrunkOutput *out) {
    const TorchvisionRegnet *p = params;
    Rule rule = p->rule;
    Net net = {.torchvision = true,
               .activation = "relu",
               .stem_width = 32,
               .se_ratio = p->se_ratio,
               .eps = 1e-5,
               .momentum = 0.1};
    rule.bottleneck = 1;
    fill_stages(&rule, &net);
    return build_net(b, &net, in, out);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    *logits = sr_linear_normal(b, "fc", features->pooled, preset->classes, 0.01);
    return sr_builder_status(b);
}

// clang-format off
static const SrPreset torchvision_presets[] = {
    {"regnet_y_400mf", "{DEPTH: 16, W_0: 48, W_A: 27.89, W_M: 2.09, GROUP_WIDTH: 8, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_800mf", "{DEPTH: 14, W_0: 56, W_A: 38.84, W_M: 2.4, GROUP_WIDTH: 16, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_1_6gf", "{DEPTH: 27, W_0: 48, W_A: 20.71, W_M: 2.65, GROUP_WIDTH: 24, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_3_2gf", "{DEPTH: 21, W_0: 80, W_A: 42.63, W_M: 2.66, GROUP_WIDTH: 24, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_8gf", "{DEPTH: 17, W_0: 192, W_A: 76.82, W_M: 2.19, GROUP_WIDTH: 56, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_16gf", "{DEPTH: 18, W_0: 200, W_A: 106.23, W_M: 2.48, GROUP_WIDTH: 112, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_32gf", "{DEPTH: 20, W_0: 232, W_A: 115.89, W_M: 2.53, GROUP_WIDTH: 232, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_y_128gf", "{DEPTH: 27, W_0: 456, W_A: 160.83, W_M: 2.52, GROUP_WIDTH: 264, SE_RATIO: 0.25}", "fc", 1000},
    {"regnet_x_400mf", "{DEPTH: 22, W_0: 24, W_A: 24.48, W_M: 2.54, GROUP_WIDTH: 16}", "fc", 1000},
    {"regnet_x_800mf", "{DEPTH: 16, W_0: 56, W_A: 35.73, W_M: 2.28, GROUP_WIDTH: 16}", "fc", 1000},
    {"regnet_x_1_6gf", "{DEPTH: 18, W_0: 80, W_A: 34.01, W_M: 2.25, GROUP_WIDTH: 24}", "fc", 1000},
    {"regnet_x_3_2gf", "{DEPTH: 25, W_0: 88, W_A: 26.31, W_M: 2.25, GROUP_WIDTH: 48}", "fc", 1000},
    {"regnet_x_8gf", "{DEPTH: 23, W_0: 80, W_A: 49.56, W_M: 2.88, GROUP_WIDTH: 120}", "fc", 1000},
    {"regnet_x_16gf", "{DEPTH: 22, W_0: 216, W_A: 55.59, W_M: 2.1, GROUP_WIDTH: 128}", "fc", 1000},
    {"regnet_x_32gf", "{DEPTH: 23, W_0: 320, W_A: 69.86, W_M: 2.0, GROUP_WIDTH: 168}", "fc", 1000},
};
// clang-format on

static const SrTrunkExample torchvision_examples[] = {
    {"{DEPTH: 4, W_0: 8, W_A: 8, W_M: 2, GROUP_WIDTH: 8, SE_RATIO: 0.25}", 32, 48}};

const SrTrunk sr_trunk_torchvision_regnet = {
    .name = "torchvision_regnet",
    .help = "torchvision's RegNetX and RegNetY",
    .subtree = "MODEL.TRUNK.TORCHVISION_REGNET",
    .options = torchvision_options,
    .params_bytes = sizeof(TorchvisionRegnet),
    .build = build_torchvision,
    .presets = SR_LIST(torchvision_presets),
    .classify = classify,
    .examples = SR_LIST(torchvision_examples),
};
