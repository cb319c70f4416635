// Parses the options of VISSL's two MobileNetV3 trunks and announces their stages.
#include "trunks/mobile/mobilenet_options.h"

#include "kernels/norm/l2_normalize.h"
#include "kernels/pool/pool2d.h"

#define FIELD(f) offsetof(SrMobileNet, f)
#define WIDTH                                                                                   \
    {                                                                                           \
        "WIDTH_MULTIPLIER", SR_OPT_FLOAT, FIELD(width_multiplier), "1", 0.0625, 16,             \
            .help = "Factor on the channels of every layer (not in VISSL); a fraction makes a " \
                    "smaller "                                                                  \
                    "net."                                                                      \
    }
#define NAMES                                                         \
    {                                                                 \
        "NAME", SR_OPT_ENUM, FIELD(name), "mobilenetv3_large_100",    \
            .choices = "mobilenetv3_large_100|mobilenetv3_small_100", \
            .help = "Name of the net; VISSL has only the large one."  \
    }
#define PRETRAINED                                                                  \
    {                                                                               \
        "PRETRAINED", SR_OPT_IGNORED, 0, "False",                                   \
            .choices = SR_REFUSED,                                                  \
            .help = "sslrun downloads nothing; give MODEL.WEIGHTS_INIT.PARAMS_FILE" \
    }

// clang-format off
const SrOption sr_mobilenetv3_tv_options[] = {
    NAMES,
    {"TIMM_BN", SR_OPT_BOOL, FIELD(timm_bn), "False",
     .help = "Batch norms have timm's epsilon 1e-5 and momentum 0.1 instead of 1e-3 and 0.01."},
    {"TRUNK_ONLY", SR_OPT_IGNORED, 0, "True", .help = "only mobilenetv3_timm reads it"},
    PRETRAINED, WIDTH,
    SR_OPTION_END,
};
const SrOption sr_mobilenetv3_timm_options[] = {
    NAMES,
    {"TIMM_BN", SR_OPT_IGNORED, 0, "False",
     .help = "mobilenetv3_timm always has timm's batch norms; only mobilenetv3_tv reads the key"},
    {"TRUNK_ONLY", SR_OPT_BOOL, FIELD(trunk_only), "True",
     .help = "Leave out the convolution between pooling and classifier; the head has it then."},
    PRETRAINED, WIDTH,
    SR_OPTION_END,
};
// clang-format on
#undef FIELD

void sr_mobile_net_normalized(SrBuilder *b, SrNodeId x, const char *name) {
    sr_build_alias(b, name, sr_build(b, "l2_normalize", "normalize", NULL, x));
}

void sr_mobile_net_outputs(SrBuilder *b, SrNodeId map, SrTrunkOutput *out) {
    out->map = map;
    sr_build_alias(b, "trunk", map);
    out->pooled = sr_build(b, "adaptive_avg_pool2d", "avgpool", &(SrAdaptivePool2dParams){0}, map);
    out->pooled = sr_build(b, "flatten", "flatten", NULL, out->pooled);
    sr_build_alias(b, "trunk_pool", out->pooled);
    sr_mobile_net_normalized(b, out->pooled, "trunk_pool_norm");
}
