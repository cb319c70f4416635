// MobileNetV3 large and small (Howard et al., arXiv:1905.02244) with torchvision's layers and
// names.
#include "trunks/mobile/mobilenet_v3_features.h"
#include "trunks/shared/conv_norm.h"
#include "trunks/shared/option_rows.h"
#include "trunks/trunk.h"

typedef struct {
    int arch;
    double width_multiplier, dropout;
} MobilenetV3;

#define FIELD(f) offsetof(MobilenetV3, f)
static const SrOption options[] = {
    {"ARCH", SR_OPT_ENUM, FIELD(arch), "large", .choices = "large|small",
     .help = "Name of the net."},
    SR_ROW_WIDTH_MULTIPLIER(0.0625),
    SR_ROW_DROPOUT("0.2"),
    SR_OPTION_END,
};
#undef FIELD

static SrMobilenetV3 features_of(const MobilenetV3 *p) {
    return (SrMobilenetV3){
        .arch = p->arch, .width_multiplier = p->width_multiplier, .eps = 1e-3, .momentum = 0.01};
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    SrMobilenetV3 features = features_of(params);
    out->map = sr_mobilenet_v3_features(b, &features, in->image);
    out->pooled = sr_pool_flatten(b, out->map, NULL);
    return sr_builder_status(b);
}

static SrStatus classify(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits) {
    const MobilenetV3 *p = params;
    SrMobilenetV3 widths = features_of(p);
    int hidden = sr_mobilenet_v3_channels(&widths, p->arch == SR_MOBILENET_V3_LARGE ? 1280 : 1024);
    sr_builder_push_block(b, "classifier", "Sequential");
    SrNodeId x = sr_linear_normal(b, "0", features->pooled, hidden, 0.01);
    x = sr_build(b, "hardswish", "1", NULL, x);
    x = sr_dropout(b, "2", x, p->dropout);
    *logits = sr_linear_normal(b, "3", x, preset->classes, 0.01);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrPreset presets[] = {
    {"mobilenet_v3_large", "{ARCH: large}", "classifier.3", 1000},
    {"mobilenet_v3_small", "{ARCH: small}", "classifier.3", 1000},
};

static const SrTrunkExample examples[] = {{"{ARCH: small, WIDTH_MULTIPLIER: 0.25}", 32, 48}};

const SrTrunk sr_trunk_torchvision_mobilenet_v3 = {
    .name = "torchvision_mobilenet_v3",
    .help = "torchvision's MobileNetV3 large and small",
    .subtree = "MODEL.TRUNK.TORCHVISION_MOBILENET_V3",
    .options = options,
    .params_bytes = sizeof(MobilenetV3),
    .build = build,
    .presets = SR_LIST(presets),
    .classify = classify,
    .examples = SR_LIST(examples),
};
