// Params of softmax.
#ifndef SR_KERNELS_ACTIVATION_SOFTMAX_H
#define SR_KERNELS_ACTIVATION_SOFTMAX_H

#include <stdbool.h>

typedef struct {        // softmax
    double temperature; // divisor; 0: the second input holds it
    bool centered;      // a centre is subtracted before
} SrSoftmaxParams;

#endif
