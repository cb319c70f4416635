// Inception v3 (Szegedy et al., "Rethinking the inception architecture for computer vision",
// arXiv:1512.00567) with torchvision's layers and names.  Modules are lists of branches; the
// letters A to E are those of torchvision's classes.
#include <string.h>

#include "kernels/basic/concat.h"
#include "kernels/pool/pool2d.h"
#include "trunks/classic/basic_conv.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    double width_multiplier, dropout;
    int aux_classes;
    bool transform_input;
} Inception;

#define FIELD(f) offsetof(Inception, f)
static const SrOption options[] = {
    SR_ROW_WIDTH_MULTIPLIER(0.0625),
    {"DROPOUT", SR_OPT_FLOAT, FIELD(dropout), "0", 0, 0.99,
     .help = "Probability of dropout of the pooled features in training; the published classifier "
             "has 0.5."},
    {"AUX_CLASSES", SR_OPT_INT, FIELD(aux_classes), "0", 0, 1 << 24,
     .help = "Number of outputs of the auxiliary classifier, which exists in training only; 0: no "
             "auxiliary classifier."},
    {"TRANSFORM_INPUT", SR_OPT_BOOL, FIELD(transform_input), "False",
     .help = "Convert images from ImageNet's mean and deviation to the normalisation that "
             "torchvision's published weights were trained with."},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    const char *leaf;
    int channels, kernel_h, kernel_w;
    int stride; // 1: keeps the size; 2: no padding
} Conv;

static SrNodeId conv_of(SrBuilder *b, const Inception *p, SrNodeId x, const Conv *c, bool same) {
    return sr_basic_conv(
        b, c->leaf, x,
        (SrConvNorm){.channels = SR_MAX(1, (int)(c->channels * p->width_multiplier)),
                     .kernel = c->kernel_h,
                     .kernel_w = c->kernel_w,
                     .stride = c->stride,
                     .unpadded = !same,
                     .deviation = 0.1});
}

// A branch inside a module: n consecutive convolutions.
static SrNodeId branch(SrBuilder *b, const Inception *p, SrNodeId x, const Conv *convs, int n) {
    for (int i = 0; i < n; i++)
        x = conv_of(b, p, x, &convs[i], convs[i].stride == 1);
    return x;
}
#define BRANCH(b, p, x, ...)                     \
    branch(b, p, x, (const Conv[]){__VA_ARGS__}, \
           (int)(sizeof((Conv[]){__VA_ARGS__}) / sizeof(Conv)))

static SrNodeId joined(SrBuilder *b, const SrNodeId *x, int n) {
    return sr_build_n(b, "concat", "cat", &(SrConcatParams){3}, x, n);
}

// Adds a mean over 3x3 and a 1x1 convolution.
static SrNodeId pool_branch(SrBuilder *b, const Inception *p, SrNodeId x, int channels) {
    SrPool2dParams pool = {.kernel_h = 3, .stride_h = 1, .padding_h = 1, .padding_w = -1};
    x = sr_build(b, "avg_pool2d", "avg_pool2d", &pool, x);
    return BRANCH(b, p, x, {"branch_pool", channels, 1, 1, 1});
}

static SrNodeId max_pool(SrBuilder *b, const char *leaf, SrNodeId x) {
    SrPool2dParams pool = {.kernel_h = 3, .stride_h = 2, .padding_w = -1};
    return sr_build(b, "max_pool2d", leaf, &pool, x);
}

static SrNodeId inception_a(SrBuilder *b, const Inception *p, SrNodeId x, int pool_channels) {
    SrNodeId y[4];
    y[0] = BRANCH(b, p, x, {"branch1x1", 64, 1, 1, 1});
    y[1] = BRANCH(b, p, x, {"branch5x5_1", 48, 1, 1, 1}, {"branch5x5_2", 64, 5, 5, 1});
    y[2] = BRANCH(b, p, x, {"branch3x3dbl_1", 64, 1, 1, 1}, {"branch3x3dbl_2", 96, 3, 3, 1},
                  {"branch3x3dbl_3", 96, 3, 3, 1});
    y[3] = pool_branch(b, p, x, pool_channels);
    return joined(b, y, 4);
}

static SrNodeId inception_b(SrBuilder *b, const Inception *p, SrNodeId x, int unused) {
    SrNodeId y[3];
    (void)unused;
    y[0] = BRANCH(b, p, x, {"branch3x3", 384, 3, 3, 2});
    y[1] = BRANCH(b, p, x, {"branch3x3dbl_1", 64, 1, 1, 1}, {"branch3x3dbl_2", 96, 3, 3, 1},
                  {"branch3x3dbl_3", 96, 3, 3, 2});
    y[2] = max_pool(b, "max_pool2d", x);
    return joined(b, y, 3);
}

static SrNodeId inception_c(SrBuilder *b, const Inception *p, SrNodeId x, int c7) {
    SrNodeId y[4];
    y[0] = BRANCH(b, p, x, {"branch1x1", 192, 1, 1, 1});
    y[1] = BRANCH(b, p, x, {"branch7x7_1", c7, 1, 1, 1}, {"branch7x7_2", c7, 1, 7, 1},
                  {"branch7x7_3", 192, 7, 1, 1});
    y[2] = BRANCH(b, p, x, {"branch7x7dbl_1", c7, 1, 1, 1}, {"branch7x7dbl_2", c7, 7, 1, 1},
                  {"branch7x7dbl_3", c7, 1, 7, 1}, {"branch7x7dbl_4", c7, 7, 1, 1},
                  {"branch7x7dbl_5", 192, 1, 7, 1});
    y[3] = pool_branch(b, p, x, 192);
    return joined(b, y, 4);
}

static SrNodeId inception_d(SrBuilder *b, const Inception *p, SrNodeId x, int unused) {
    SrNodeId y[3];
    (void)unused;
    y[0] = BRANCH(b, p, x, {"branch3x3_1", 192, 1, 1, 1}, {"branch3x3_2", 320, 3, 3, 2});
    y[1] = BRANCH(b, p, x, {"branch7x7x3_1", 192, 1, 1, 1}, {"branch7x7x3_2", 192, 1, 7, 1},
                  {"branch7x7x3_3", 192, 7, 1, 1}, {"branch7x7x3_4", 192, 3, 3, 2});
    y[2] = max_pool(b, "max_pool2d", x);
    return joined(b, y, 3);
}

// Adds a 1x3 and a 3x1 convolution of one map in parallel.
static SrNodeId forked(SrBuilder *b, const Inception *p, SrNodeId x, const char *wide,
                       const char *tall) {
    SrNodeId y[2];
    y[0] = BRANCH(b, p, x, {wide, 384, 1, 3, 1});
    y[1] = BRANCH(b, p, x, {tall, 384, 3, 1, 1});
    return joined(b, y, 2);
}

static SrNodeId inception_e(SrBuilder *b, const Inception *p, SrNodeId x, int unused) {
    SrNodeId y[4];
    (void)unused;
    y[0] = BRANCH(b, p, x, {"branch1x1", 320, 1, 1, 1});
    y[1] = BRANCH(b, p, x, {"branch3x3_1", 384, 1, 1, 1});
    y[1] = forked(b, p, y[1], "branch3x3_2a", "branch3x3_2b");
    y[2] = BRANCH(b, p, x, {"branch3x3dbl_1", 448, 1, 1, 1}, {"branch3x3dbl_2", 384, 3, 3, 1});
    y[2] = forked(b, p, y[2], "branch3x3dbl_3a", "branch3x3dbl_3b");
    y[3] = pool_branch(b, p, x, 192);
    return joined(b, y, 4);
}

static const struct {
    const char *name, *class_name;
    SrNodeId (*build)(SrBuilder *b, const Inception *p, SrNodeId x, int channels);
    int channels;
    const char *index; // timm's index if this is the last map of a resolution
} modules[] = {
    {"Mixed_5b", "InceptionA", inception_a, 32, NULL},
    {"Mixed_5c", "InceptionA", inception_a, 64, NULL},
    {"Mixed_5d", "InceptionA", inception_a, 64, "2"},
    {"Mixed_6a", "InceptionB", inception_b, 0, NULL},
    {"Mixed_6b", "InceptionC", inception_c, 128, NULL},
    {"Mixed_6c", "InceptionC", inception_c, 160, NULL},
    {"Mixed_6d", "InceptionC", inception_c, 160, NULL},
    {"Mixed_6e", "InceptionC", inception_c, 192, "3"},
    {"Mixed_7a", "InceptionD", inception_d, 0, NULL},
    {"Mixed_7b", "InceptionE", inception_e, 0, NULL},
    {"Mixed_7c", "InceptionE", inception_e, 0, "4"},
};

// Adds the auxiliary classifier, which exists in training only and feeds nothing but its own
// output. Its 5x5 windows need a map of 17x17, that is images of 299 pixels.  torchvision's net
// cannot train on smaller images; here the windows shrink.
static void auxiliary(SrBuilder *b, const Inception *p, SrNodeId x, SrTrunkOutput *out) {
    SrShape map = sr_build_shape(b, x);
    if (!p->aux_classes)
        return;
    sr_builder_set_mode(b, SR_MODE_TRAIN);
    sr_builder_push_block(b, "AuxLogits", "InceptionAux");
    if (SR_MIN(map.d[1], map.d[2]) >= 17)
        x = sr_build(b, "avg_pool2d", "avg_pool2d",
                     &(SrPool2dParams){.kernel_h = 5, .stride_h = 3, .padding_w = -1}, x);
    else
        x = sr_build(b, "adaptive_avg_pool2d", "avg_pool2d",
                     &(SrAdaptivePool2dParams){.out_h = 5, .out_w = 5}, x);
    x = conv_of(b, p, x, &(Conv){"conv0", 128, 1, 1, 1}, true);
    x = conv_of(b, p, x, &(Conv){"conv1", 768, 5, 5, 1}, false);
    x = sr_build(b, "adaptive_avg_pool2d", "adaptive_avg_pool2d", &(SrAdaptivePool2dParams){0}, x);
    x = sr_build(b, "flatten", "flatten", NULL, x);
    x = sr_basic_linear(b, "fc", x, p->aux_classes, 0.001);
    sr_builder_pop(b);
    sr_builder_set_mode(b, SR_MODE_BOTH);
    out->extra[out->n_extra].name = "AuxLogits";
    out->extra[out->n_extra++].node = x;
}

static SrNodeId stem(SrBuilder *b, const Inception *p, SrNodeId x) {
    x = conv_of(b, p, x, &(Conv){"Conv2d_1a_3x3", 32, 3, 3, 2}, false);
    x = conv_of(b, p, x, &(Conv){"Conv2d_2a_3x3", 32, 3, 3, 1}, false);
    x = conv_of(b, p, x, &(Conv){"Conv2d_2b_3x3", 64, 3, 3, 1}, true);
    sr_build_alias(b, "0", x);
    x = max_pool(b, "maxpool1", x);
    x = conv_of(b, p, x, &(Conv){"Conv2d_3b_1x1", 80, 1, 1, 1}, true);
    x = conv_of(b, p, x, &(Conv){"Conv2d_4a_3x3", 192, 3, 3, 1}, false);
    sr_build_alias(b, "1", x);
    return max_pool(b, "maxpool2", x);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const Inception *p = params;
    SrNodeId x = stem(b, p, p->transform_input ? sr_inception_input(b, in->image) : in->image);
    for (int i = 0; i < SR_COUNT(modules); i++) {
        sr_builder_push_block(b, modules[i].name, modules[i].class_name);
        x = modules[i].build(b, p, x, modules[i].channels);
        sr_builder_pop(b);
        if (modules[i].index)
            sr_build_alias(b, modules[i].index, x);
        if (!strcmp(modules[i].name, "Mixed_6e"))
            auxiliary(b, p, x, out);
    }
    out->map = x;
    x = sr_build(b, "adaptive_avg_pool2d", "avgpool", &(SrAdaptivePool2dParams){0}, x);
    x = sr_dropout(b, "dropout", x, p->dropout);
    x = sr_build(b, "flatten", "flatten", NULL, x);
    sr_build_alias(b, "flatten", x);
    out->pooled = x;
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    (void)params;
    *logits = sr_basic_linear(b, "fc", features->pooled, preset->classes, 0.1);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {
    {"inception_v3", "{DROPOUT: 0.5, AUX_CLASSES: 1000}", "fc", 1000}};

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 75, 96}};

const SrTrunk sr_trunk_inception_v3 = {
    .name = "inception_v3",
    .help = "Inception v3",
    .subtree = "MODEL.TRUNK.INCEPTION_V3",
    .options = options,
    .params_bytes = sizeof(Inception),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
