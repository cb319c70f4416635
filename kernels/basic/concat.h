// Params of concat.
#ifndef SR_KERNELS_BASIC_CONCAT_H
#define SR_KERNELS_BASIC_CONCAT_H

typedef struct { // concat
    int dim;     // the dimension along which inputs are joined
} SrConcatParams;

#endif
