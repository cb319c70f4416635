// Params of pad.
#ifndef SR_KERNELS_PAD_H
#define SR_KERNELS_PAD_H

typedef struct { // pad: channels of zeros
    int before, after;
} SrPadParams;

#endif
