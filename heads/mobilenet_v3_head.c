// MobileNetV3's classifier in torchvision's form: Linear -> hard-swish -> dropout -> Linear.
#include "heads/mobilenet_v3_layers.h"
#include "kernels/basic/dropout.h"
#include "kernels/basic/linear.h"

static SrNodeId linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, 0.01});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    return sr_build(b, "linear", leaf,
                    &(SrLinearParams){.out_features = out_features, .bias = true}, x);
}

// in: (N, in_channels) -> (N, num_classes)
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    const SrMobilenetV3Head *p = params;
    SrNodeId x;
    SR_TRY(sr_mobilenet_v3_head_start(b, "mobilenet_v3_head", p, settings, in, n_in, &x));
    sr_builder_push(b, "classifier");
    x = sr_build(b, "hardswish", "1", NULL, linear(b, "0", x, p->mid_channels));
    x = sr_build(b, "dropout", "2", &(SrDropoutParams){p->drop_out}, x);
    out[0] = linear(b, "3", x, p->num_classes);
    sr_builder_pop(b);
    *n_out = 1;
    return sr_builder_status(b);
}

static const SrHeadExample examples[] = {
    {"{in_channels: 8, mid_channels: 6, num_classes: 3, drop_out: 0}", false},
    {"{in_channels: 8, mid_channels: 6, num_classes: 3, with_bn: True}", false}};

const SrHead sr_head_mobilenet_v3_head = {
    .name = "mobilenet_v3_head",
    .help = "MobileNetV3's classifier: two linear layers with hard-swish between",
    .options = sr_mobilenet_v3_head_options,
    .params_bytes = sizeof(SrMobilenetV3Head),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
