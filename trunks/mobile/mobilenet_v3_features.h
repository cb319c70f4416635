// The convolutions of MobileNetV3 (Howard et al., arXiv:1905.02244) under torchvision's names or
// timm's.
#ifndef SR_TRUNKS_MOBILE_MOBILENET_V3_FEATURES_H
#define SR_TRUNKS_MOBILE_MOBILENET_V3_FEATURES_H

#include "graph/ir/builder.h"

typedef enum { SR_MOBILENET_V3_LARGE, SR_MOBILENET_V3_SMALL } SrMobilenetV3Arch;
typedef struct {
    int arch; // an SrMobilenetV3Arch
    double width_multiplier;
    double eps, momentum; // of batch norms
    bool timm; // true: timm's names (conv_stem, bn1), false: torchvision's (features.0.0)
} SrMobilenetV3;

// Returns a layer's number of channels: the nearest multiple of 8.
int sr_mobilenet_v3_channels(const SrMobilenetV3 *p, int channels);
// x: (N, H, W, C) -> (N, H / 32, W / 32, 6 times the last block's channels), with timm's indices
// as stages.
SrNodeId sr_mobilenet_v3_features(SrBuilder *b, const SrMobilenetV3 *p, SrNodeId x);

#endif
