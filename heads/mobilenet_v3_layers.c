// Builds the layers that both heads of MobileNetV3 share.
#include "heads/mobilenet_v3_layers.h"

#include "heads/mlp_layers.h"
#include "kernels/norm/batch_norm.h"

#define FIELD(f) offsetof(SrMobilenetV3Head, f)
const SrOption sr_mobilenet_v3_head_options[] = {
    {"in_channels", SR_OPT_INT, FIELD(in_channels), "960", 1, 1 << 24,
     .help = "Number of input features."},
    {"mid_channels", SR_OPT_INT, FIELD(mid_channels), "1280", 1, 1 << 24,
     .help = "Width of the hidden layer."},
    {"num_classes", SR_OPT_INT, FIELD(num_classes), "1000", 1, 1 << 24, .help = "Classes."},
    {"drop_out", SR_OPT_FLOAT, FIELD(drop_out), "0.2", 0, 0.99,
     .help = "Probability of dropout before the last layer."},
    {"with_bn", SR_OPT_BOOL, FIELD(with_bn), "False",
     .help = "Put a batch norm before the first layer."},
    SR_OPTION_END,
};
#undef FIELD

SrStatus sr_mobilenet_v3_head_start(SrBuilder *b, const char *head, const SrMobilenetV3Head *p,
                                    const SrHeadSettings *settings, const SrNodeId *in, int n_in,
                                    SrNodeId *x) {
    SrBatchNormParams norm = {.eps = settings->bn_eps, .momentum = settings->bn_momentum};
    SR_TRY(sr_head_one_vector(b, head, in, n_in, x));
    int features = sr_shape_last(sr_build_shape(b, *x));
    if (features != p->in_channels)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "%s: in_channels is %d, but its input has %d features", head,
                               p->in_channels, features);
    if (p->with_bn)
        *x = sr_build(b, "batch_norm", "channel_bn", &norm, *x);
    return sr_builder_status(b);
}
