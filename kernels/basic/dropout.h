// Params of dropout.
#ifndef SR_KERNELS_BASIC_DROPOUT_H
#define SR_KERNELS_BASIC_DROPOUT_H

typedef struct { // dropout
    double p;
} SrDropoutParams;

#endif
