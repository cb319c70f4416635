// MobileNetV3's classifier in timm's form: 1x1 convolution -> hard-swish -> flatten -> dropout ->
// Linear.
#include "heads/mobilenet_v3_layers.h"
#include "kernels/basic/dropout.h"
#include "kernels/basic/linear.h"
#include "kernels/basic/reshape.h"
#include "kernels/conv/conv2d.h"

// in: (N, in_channels) -> (N, num_classes)
static SrStatus build(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out) {
    const SrMobilenetV3Head *p = params;
    SrConv2dParams conv = {
        .out_channels = p->mid_channels, .kernel_h = 1, .padding_w = -1, .groups = 1, .bias = true};
    SrNodeId x;
    SR_TRY(sr_mobilenet_v3_head_start(b, "mobilenet_v3_head_timm", p, settings, in, n_in, &x));
    x = sr_build(b, "reshape", "unsqueeze",
                 &(SrReshapeParams){.d1 = 1, .d2 = 1, .d3 = p->in_channels}, x);
    sr_builder_push(b, "classifier");
    x = sr_build(b, "hardswish", "1", NULL, sr_build(b, "conv2d", "0", &conv, x));
    x = sr_build(b, "flatten", "2", NULL, x);
    x = sr_build(b, "dropout", "3", &(SrDropoutParams){p->drop_out}, x);
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, 0.01});
    sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    out[0] = sr_build(b, "linear", "4",
                      &(SrLinearParams){.out_features = p->num_classes, .bias = true}, x);
    sr_builder_pop(b);
    *n_out = 1;
    return sr_builder_status(b);
}

static const SrHeadExample examples[] = {
    {"{in_channels: 8, mid_channels: 6, num_classes: 3, drop_out: 0}", false},
    {"{in_channels: 8, mid_channels: 6, num_classes: 3, with_bn: True}", false}};

const SrHead sr_head_mobilenet_v3_head_timm = {
    .name = "mobilenet_v3_head_timm",
    .help = "MobileNetV3's classifier: a 1x1 convolution, hard-swish and a linear layer",
    .options = sr_mobilenet_v3_head_options,
    .params_bytes = sizeof(SrMobilenetV3Head),
    .build = build,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
