// Params of slice.
#ifndef SR_KERNELS_SLICE_H
#define SR_KERNELS_SLICE_H

typedef struct { // slice: rows begin .. begin + count - 1 of the first dimension
    int begin, count;
} SrSliceParams;

#endif
