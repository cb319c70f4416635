// Builds BasicConv2d (Szegedy et al., "Rethinking the inception architecture for computer vision",
// arXiv:1512.00567) with torchvision's epsilon of 1e-3.
#include "trunks/classic/basic_conv.h"

#include "kernels/basic/concat.h"
#include "kernels/basic/scale.h"
#include "kernels/basic/slice.h"

SrNodeId sr_basic_conv(SrBuilder *b, const char *scope, SrNodeId x, SrConvNorm p) {
    p.activation = "relu";
    p.eps = 1e-3;
    p.momentum = 0.1;
    sr_builder_push_block(b, scope, "BasicConv2d");
    x = sr_conv_norm_named(b, "conv", "bn", "relu", x, &p);
    sr_builder_pop(b);
    return x;
}

SrNodeId sr_basic_linear(SrBuilder *b, const char *leaf, SrNodeId x, int out_features,
                         double deviation) {
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, deviation});
    return sr_linear_normal(b, leaf, x, out_features, 0);
}

SrNodeId sr_inception_input(SrBuilder *b, SrNodeId x) {
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    SrNodeId channel[3];
    if (sr_builder_status(b) == SR_OK && sr_shape_last(sr_build_shape(b, x)) != 3) {
        sr_builder_fail(b, SR_ERR_CONFIG,
                        "TRANSFORM_INPUT is for RGB, and the images have %d channels; set it to "
                        "False",
                        sr_shape_last(sr_build_shape(b, x)));
        return x;
    }
    bool aside = sr_builder_set_aside(b, true);
    sr_builder_push(b, "transform_input");
    for (int c = 0; c < 3; c++) {
        SrScaleParams p = {.factor = deviation[c] / 0.5, .offset = (mean[c] - 0.5) / 0.5};
        channel[c] =
            sr_build(b, "slice", "getitem", &(SrSliceParams){.begin = c, .count = 1, .dim = 3}, x);
        channel[c] = sr_build(b, "scale", "mul", &p, channel[c]);
    }
    x = sr_build_n(b, "concat", "cat", &(SrConcatParams){.dim = 3}, channel, 3);
    sr_builder_pop(b);
    sr_builder_set_aside(b, aside);
    return x;
}
