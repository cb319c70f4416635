// Params of scale.
#ifndef SR_KERNELS_BASIC_SCALE_H
#define SR_KERNELS_BASIC_SCALE_H

typedef struct { // scale
    double factor;
    double offset; // added after the multiplication
} SrScaleParams;

#endif
