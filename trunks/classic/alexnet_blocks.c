// Builds VISSL's AlexNets: Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep
// convolutional neural networks" (NeurIPS 2012).
//
// VISSL's `flatten` leaves a map unchanged (its dim is -1).  Here it gives vectors with the same
// numbers in the same order.
#include "trunks/classic/alexnet_blocks.h"

#include <stdio.h>

#include "kernels/conv/conv2d.h"
#include "kernels/norm/batch_norm.h"
#include "kernels/norm/local_response_norm.h"
#include "kernels/pool/pool2d.h"

const SrOption sr_alexnet_options[] = {
    {"WIDTH_MULTIPLIER", SR_OPT_FLOAT, offsetof(SrAlexnetParams, width_multiplier), "1", 0.015625,
     16,
     .help =
         "Factor on the channels of every layer (not in VISSL); a fraction makes a smaller net."},
    SR_OPTION_END,
};

static void push(SrBuilder *b, int i) { sr_builder_push_numbered(b, "Sequential", "%d", i); }

// Adds convolution i, optionally a batch norm, and a ReLU: nodes 0, 1 and, with a norm, 2 of module
// `at`.
static SrNodeId conv(SrBuilder *b, const SrAlexnetParams *p, const SrAlexnetLayout *l, int i,
                     int at, SrNodeId x) {
    static const int kernel[] = {11, 5, 3, 3, 3};
    SrConv2dParams conv = {.out_channels = (int)(l->channels[i] * p->width_multiplier),
                           .kernel_h = kernel[i],
                           .stride_h = i ? 1 : l->stride,
                           .padding_h = i ? kernel[i] / 2 : l->padding,
                           .padding_w = -1,
                           .groups = i % 2 == 1 || i == 4 ? l->groups : 1,
                           .bias = true};
    SrBatchNormParams norm = {.eps = 1e-5, .momentum = 0.1};
    push(b, at);
    x = sr_build(b, "conv2d", "0", &conv, x);
    if (l->batch_norm[i])
        x = sr_build(b, "batch_norm", "1", &norm, x);
    x = sr_build(b, "relu", l->batch_norm[i] ? "2" : "1", NULL, x);
    sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "conv%d", i + 1);
    return x;
}

static SrNodeId respond(SrBuilder *b, const char *leaf, SrNodeId x) {
    return sr_build(b, "local_response_norm", leaf,
                    &(SrLocalResponseNormParams){.size = 5, .alpha = 1e-4, .beta = 0.75, .k = 1},
                    x);
}

static SrNodeId pool(SrBuilder *b, SrAlexnetPool kind, int i, int at, SrNodeId x) {
    SrPool2dParams window = {.kernel_h = 3, .stride_h = 2, .padding_w = -1};
    char leaf[16];
    snprintf(leaf, sizeof leaf, "%d", at);
    if (kind != SR_ALEXNET_PLAIN)
        push(b, at);
    if (kind == SR_ALEXNET_NORM_POOL)
        x = sr_build(b, "max_pool2d", "1", &window, respond(b, "0", x));
    else if (kind == SR_ALEXNET_POOL_NORM)
        x = respond(b, "1", sr_build(b, "max_pool2d", "0", &window, x));
    else
        x = sr_build(b, "max_pool2d", leaf, &window, x);
    if (kind != SR_ALEXNET_PLAIN)
        sr_builder_pop(b);
    sr_build_alias_numbered(b, x, "pool%d", i);
    return x;
}

SrStatus sr_alexnet_build(SrBuilder *b, const SrAlexnetParams *p, const SrAlexnetLayout *layout,
                          SrNodeId x, SrTrunkOutput *out) {
    int at = 0;
    for (int i = 0; i < 2; i++) {
        x = conv(b, p, layout, i, at++, x);
        x = pool(b, layout->pool, i + 1, at++, x);
    }
    for (int i = 2; i < SR_ALEXNET_CONVS; i++)
        x = conv(b, p, layout, i, at++, x);
    out->map = pool(b, SR_ALEXNET_PLAIN, 5, at++, x);
    char leaf[16];
    snprintf(leaf, sizeof leaf, "%d", at);
    out->pooled = sr_build(b, "flatten", leaf, NULL, out->map);
    sr_build_alias(b, "flatten", out->pooled);
    return sr_builder_status(b);
}
