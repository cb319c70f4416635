// Params of pad.
#ifndef SR_KERNELS_BASIC_PAD_H
#define SR_KERNELS_BASIC_PAD_H

typedef struct { // pad: zeros before and after the entries of a dimension
    int before, after;
    int dim; // 0: the last dimension, which holds the channels
} SrPadParams;

#endif
