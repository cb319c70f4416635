// GoogLeNet (Szegedy et al., "Going deeper with convolutions", arXiv:1409.4842) with batch norm
// and torchvision's layers and names.  The third branch has 3x3 convolutions in torchvision and
// 5x5 in the paper.

#include "kernels/basic/concat.h"
#include "kernels/pool/pool2d.h"
#include "trunks/classic/basic_conv.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    double width_multiplier, dropout, dropout_aux;
    int aux_classes;
    bool transform_input;
} Googlenet;

#define FIELD(f) offsetof(Googlenet, f)
static const SrOption options[] = {
    SR_ROW_WIDTH_MULTIPLIER(0.0625),
    SR_ROW_DROPOUT("0.2"),
    {"DROPOUT_AUX", SR_OPT_FLOAT, FIELD(dropout_aux), "0.7", 0, 0.99,
     .help = "Probability of dropout in the auxiliary classifiers."},
    {"AUX_CLASSES", SR_OPT_INT, FIELD(aux_classes), "0", 0, 1 << 24,
     .help =
         "Number of outputs of the two auxiliary classifiers, which exist in training only; 0: no "
         "auxiliary classifiers."},
    {"TRANSFORM_INPUT", SR_OPT_BOOL, FIELD(transform_input), "False",
     .help = "Convert images from ImageNet's mean and deviation to the normalisation that "
             "torchvision's "
             "published weights were trained with."},
    SR_OPTION_END,
};
#undef FIELD

// Table 1 of the paper; `third` is its 5x5 branch.
typedef struct {
    const char *name;
    int one, reduce_second, second, reduce_third, third, pool;
} Module;
// clang-format off
static const Module modules[] = {
    {"inception3a",  64,  96, 128, 16,  32,  32}, {"inception3b", 128, 128, 192, 32,  96,  64},
    {"inception4a", 192,  96, 208, 16,  48,  64}, {"inception4b", 160, 112, 224, 24,  64,  64},
    {"inception4c", 128, 128, 256, 24,  64,  64}, {"inception4d", 112, 144, 288, 32,  64,  64},
    {"inception4e", 256, 160, 320, 32, 128, 128}, {"inception5a", 256, 160, 320, 32, 128, 128},
    {"inception5b", 384, 192, 384, 48, 128, 128}};
// clang-format on

static SrNodeId conv(SrBuilder *b, const Googlenet *p, const char *scope, SrNodeId x, int channels,
                     int kernel, int stride) {
    return sr_basic_conv(b, scope, x,
                         (SrConvNorm){.channels = SR_MAX(1, (int)(channels * p->width_multiplier)),
                                      .kernel = kernel,
                                      .stride = stride,
                                      .deviation = 0.01});
}

static SrNodeId max_pool(SrBuilder *b, const char *leaf, SrNodeId x, int kernel, int stride,
                         int padding) {
    SrPool2dParams pool = {.kernel_h = kernel,
                           .stride_h = stride,
                           .padding_h = padding,
                           .padding_w = -1,
                           .ceil_mode = true};
    return sr_build(b, "max_pool2d", leaf, &pool, x);
}

static SrNodeId inception(SrBuilder *b, const Googlenet *p, const Module *m, SrNodeId x) {
    SrNodeId branch[4];
    sr_builder_push_block(b, m->name, "Inception");
    branch[0] = conv(b, p, "branch1", x, m->one, 1, 1);
    sr_builder_push_block(b, "branch2", "Sequential");
    branch[1] = conv(b, p, "1", conv(b, p, "0", x, m->reduce_second, 1, 1), m->second, 3, 1);
    sr_builder_pop(b);
    sr_builder_push_block(b, "branch3", "Sequential");
    branch[2] = conv(b, p, "1", conv(b, p, "0", x, m->reduce_third, 1, 1), m->third, 3, 1);
    sr_builder_pop(b);
    sr_builder_push_block(b, "branch4", "Sequential");
    branch[3] = conv(b, p, "1", max_pool(b, "0", x, 3, 1, 1), m->pool, 1, 1);
    sr_builder_pop(b);
    x = sr_build_n(b, "concat", "cat", &(SrConcatParams){3}, branch, 4);
    sr_builder_pop(b);
    return x;
}

// Adds an auxiliary classifier, which exists in training only and feeds nothing but its own output.
static void auxiliary(SrBuilder *b, const Googlenet *p, const char *scope, SrNodeId x,
                      SrTrunkOutput *out) {
    if (!p->aux_classes)
        return;
    sr_builder_set_mode(b, SR_MODE_TRAIN);
    sr_builder_push_block(b, scope, "InceptionAux");
    x = sr_build(b, "adaptive_avg_pool2d", "adaptive_avg_pool2d",
                 &(SrAdaptivePool2dParams){.out_h = 4, .out_w = 4}, x);
    x = conv(b, p, "conv", x, 128, 1, 1);
    x = sr_build(b, "flatten", "flatten", NULL, x);
    x = sr_basic_linear(b, "fc1", x, 1024, 0.01);
    x = sr_build(b, "relu", "relu", NULL, x);
    x = sr_dropout(b, "dropout", x, p->dropout_aux);
    x = sr_basic_linear(b, "fc2", x, p->aux_classes, 0.01);
    sr_builder_pop(b);
    sr_builder_set_mode(b, SR_MODE_BOTH);
    out->extra[out->n_extra].name = scope;
    out->extra[out->n_extra++].node = x;
}

static SrNodeId stem(SrBuilder *b, const Googlenet *p, SrNodeId x) {
    x = conv(b, p, "conv1", x, 64, 7, 2);
    sr_build_alias(b, "0", x);
    x = max_pool(b, "maxpool1", x, 3, 2, 0);
    x = conv(b, p, "conv2", x, 64, 1, 1);
    x = conv(b, p, "conv3", x, 192, 3, 1);
    sr_build_alias(b, "1", x);
    return max_pool(b, "maxpool2", x, 3, 2, 0);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Googlenet *p = params;
    SrNodeId x = stem(b, p, p->transform_input ? sr_inception_input(b, in->image) : in->image);
    for (int i = 0; i < SR_COUNT(modules); i++) {
        if (i == 2 || i == 7) { // start of the next resolution
            sr_build_alias(b, i == 2 ? "2" : "3", x);
            x = max_pool(b, i == 2 ? "maxpool3" : "maxpool4", x, i == 2 ? 3 : 2, 2, 0);
        }
        x = inception(b, p, &modules[i], x);
        if (i == 2 || i == 5)
            auxiliary(b, p, i == 2 ? "aux1" : "aux2", x, out);
    }
    sr_build_alias(b, "4", x);
    out->map = x;
    out->pooled = sr_pool_flatten(b, x, NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const Googlenet *p = params;
    SrNodeId x = sr_dropout(b, "dropout", features->pooled, p->dropout);
    *logits = sr_basic_linear(b, "fc", x, preset->classes, 0.01);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {{"googlenet", "{AUX_CLASSES: 1000}", "fc", 1000}};

static const SrTrunkExample examples[] = {
    {"{WIDTH_MULTIPLIER: 0.125}", 32, 65},
    {"{WIDTH_MULTIPLIER: 0.0625, AUX_CLASSES: 5}", 64, 0},
};

const SrTrunk sr_trunk_googlenet = {
    .name = "googlenet",
    .help = "GoogLeNet with batch norm",
    .subtree = "MODEL.TRUNK.GOOGLENET",
    .options = options,
    .params_bytes = sizeof(Googlenet),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
