// Params of layer_scale.
#ifndef SR_KERNELS_LAYER_SCALE_H
#define SR_KERNELS_LAYER_SCALE_H

#include <stdbool.h>

typedef struct {      // layer_scale
    double init;      // what the factors start at: 1e-6, 0.1
    bool over_planes; // stored (C, 1, 1), as torchvision's ConvNeXt has it, not (C)
} SrLayerScaleParams;

#endif
