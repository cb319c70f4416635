// Params of reshape.
#ifndef SR_KERNELS_RESHAPE_H
#define SR_KERNELS_RESHAPE_H

typedef struct {    // reshape: (N, ...) -> (N, d1), (N, d1, d2) or (N, d1, d2, d3)
    int d1, d2, d3; // 0: no such dimension
} SrReshapeParams;

#endif
