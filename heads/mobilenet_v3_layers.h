// The classifier of MobileNetV3 (Howard et al., arXiv:1905.02244, figure 5).  VISSL has two heads
// that differ in their first layer: linear, or a 1x1 convolution.
#ifndef SR_HEADS_MOBILENET_V3_LAYERS_H
#define SR_HEADS_MOBILENET_V3_LAYERS_H

#include "heads/head.h"

typedef struct {
    int in_channels, mid_channels, num_classes;
    double drop_out;
    bool with_bn;
} SrMobilenetV3Head;
extern const SrOption sr_mobilenet_v3_head_options[];

// Checks that the input is one vector per image and applies channel_bn if requested:
// (N, C) -> (N, C).
SrStatus sr_mobilenet_v3_head_start(SrBuilder *b, const char *head, const SrMobilenetV3Head *p,
                                    const SrHeadSettings *settings, const SrNodeId *in, int n_in,
                                    SrNodeId *x);

#endif
