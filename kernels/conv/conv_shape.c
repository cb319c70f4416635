// Sizes of a convolution's output.
#include "kernels/conv/conv_shape.h"

void sr_conv_shape(SrConvShape *s) {
    s->P = (s->H + 2 * s->pad_h - s->dilation_h * (s->R - 1) - 1) / s->stride_h + 1;
    s->Q = (s->W + 2 * s->pad_w - s->dilation_w * (s->S - 1) - 1) / s->stride_w + 1;
}
