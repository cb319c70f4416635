// Szegedy et al., "Rethinking the inception architecture for computer vision" (arXiv:1512.00567), with torchvision's
// norm of epsilon 1e-3.
#include "trunks/basic_conv.h"

#include "kernels/batch_norm.h"
#include "kernels/conv2d.h"

SrNodeId sr_basic_conv(SrBuilder *b, const char *scope, SrNodeId x, const SrBasicConv *p) {
    int kernel_w = p->kernel_w ? p->kernel_w : p->kernel_h;
    SrConv2dParams conv = {.out_channels = p->channels,
                           .kernel_h = p->kernel_h,
                           .kernel_w = kernel_w,
                           .stride_h = p->stride,
                           .padding_h = p->same ? p->kernel_h / 2 : 0,
                           .padding_w = p->same ? kernel_w / 2 : 0,
                           .groups = 1};
    SrBatchNormParams norm = {.eps = 1e-3, .momentum = 0.1};
    sr_builder_push_block(b, scope, "BasicConv2d");
    sr_builder_set_init(b, "weight", (SrInit){SR_INIT_NORMAL, p->deviation});
    x = sr_build(b, "conv2d", "conv", &conv, x);
    x = sr_build(b, "batch_norm", "bn", &norm, x);
    x = sr_build(b, "relu", "relu", NULL, x);
    sr_builder_pop(b);
    return x;
}
