// Params of interpolate.
#ifndef SR_KERNELS_BASIC_INTERPOLATE_H
#define SR_KERNELS_BASIC_INTERPOLATE_H

typedef struct { // interpolate: (N, H, W, C) -> (N, h, w, C)
    int h, w;    // rows and columns of the result
} SrInterpolateParams;

#endif
