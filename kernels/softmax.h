// Params of softmax.
#ifndef SR_KERNELS_SOFTMAX_H
#define SR_KERNELS_SOFTMAX_H

#include <stdbool.h>

typedef struct {        // softmax
    double temperature; // divides; 0: the second input does
    bool centered;      // a centre is subtracted first
} SrSoftmaxParams;

#endif
