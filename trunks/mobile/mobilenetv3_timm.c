// MobileNetV3 of timm in VISSL's wrapper (vissl/models/trunks/mobile_net.py), with names below
// "model.".
#include "kernels/conv/conv2d.h"
#include "kernels/pool/pool2d.h"
#include "trunks/mobile/mobilenet_options.h"
#include "trunks/mobile/mobilenet_v3_features.h"

// (N, H, W, C) -> (N, 1280 or 1024): timm's layers between pooling and classifier
static SrNodeId head(SrBuilder *b, const SrMobilenetV3 *f, SrNodeId map) {
    SrConv2dParams conv = {
        .out_channels = sr_mobilenet_v3_channels(f, f->arch == SR_MOBILENET_V3_LARGE ? 1280 : 1024),
        .kernel_h = 1,
        .padding_w = -1,
        .groups = 1,
        .bias = true};
    SrNodeId x =
        sr_build(b, "adaptive_avg_pool2d", "global_pool", &(SrAdaptivePool2dParams){0}, map);
    x = sr_build(b, "hardswish", "act2", NULL, sr_build(b, "conv2d", "conv_head", &conv, x));
    return sr_build(b, "flatten", "flatten", NULL, x);
}

static SrStatus build(SrBuilder *b, const void *params, const SrTrunkInput *in,
                      SrTrunkOutput *out) {
    const SrMobileNet *p = params;
    SrMobilenetV3 features = {.arch = p->name,
                              .width_multiplier = p->width_multiplier,
                              .eps = 1e-5,
                              .momentum = 0.1,
                              .timm = true};
    sr_builder_push(b, "model");
    sr_mobile_net_outputs(b, sr_mobilenet_v3_features(b, &features, in->image), out);
    if (!p->trunk_only) {
        out->pooled = head(b, &features, out->map);
        sr_build_alias(b, "flatten", out->pooled);
        sr_mobile_net_normalized(b, out->pooled, "flatten_norm");
    }
    sr_builder_pop(b);
    return sr_builder_status(b);
}

static const SrTrunkExample examples[] = {{"{WIDTH_MULTIPLIER: 0.0625}", 32, 48},
                                          {"{WIDTH_MULTIPLIER: 0.0625, TRUNK_ONLY: False}", 32, 0}};

const SrTrunk sr_trunk_mobilenetv3_timm = {
    .name = "mobilenetv3_timm",
    .help = "MobileNetV3 under timm's names",
    .subtree = SR_MOBILE_NET,
    .options = sr_mobilenetv3_timm_options,
    .params_bytes = sizeof(SrMobileNet),
    .build = build,
    .examples = SR_LIST(examples),
};
