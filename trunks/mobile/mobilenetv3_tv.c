// MobileNetV3 of torchvision in VISSL's wrapper (vissl/models/trunks/mobile_net.py), with names
// below "model.".
#include "trunks/mobile/mobilenet_options.h"
#include "trunks/mobile/mobilenet_v3_features.h"

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const SrMobileNet *p = params;
    SrMobilenetV3 features = {.arch = p->name,
                              .width_multiplier = p->width_multiplier,
                              .eps = p->timm_bn ? 1e-5 : 1e-3,
                              .momentum = p->timm_bn ? 0.1 : 0.01};
    sr_builder_push(b, "model");
    sr_mobile_net_outputs(b, sr_mobilenet_v3_features(b, &features, in->image), out);
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 32, 48}};

const SrTrunk sr_trunk_mobilenetv3_tv = {
    .name = "mobilenetv3_tv",
    .help = "MobileNetV3 under torchvision's names",
    .subtree = SR_MOBILE_NET,
    .options = sr_mobilenetv3_tv_options,
    .params_bytes = sizeof(SrMobileNet),
    .build = build,
    .examples = SR_LIST(examples),
};
