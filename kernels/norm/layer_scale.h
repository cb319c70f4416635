// Params of layer_scale.
#ifndef SR_KERNELS_NORM_LAYER_SCALE_H
#define SR_KERNELS_NORM_LAYER_SCALE_H

#include <stdbool.h>

typedef struct {      // layer_scale
    double init;      // initial value of the factors: 1e-6, 0.1
    bool over_planes; // stored as (C, 1, 1), like torchvision's ConvNeXt; false: (C)
} SrLayerScaleParams;

#endif
