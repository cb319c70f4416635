// Params of reshape.
#ifndef SR_KERNELS_BASIC_RESHAPE_H
#define SR_KERNELS_BASIC_RESHAPE_H

typedef struct { // reshape: (N, ...) -> (N, d1), (N, d1, d2), ... up to (N, d1, d2, d3, d4, d5)
    int d1, d2, d3, d4, d5; // 0: no such dimension
} SrReshapeParams;

#endif
