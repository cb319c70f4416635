// Params of slice.
#ifndef SR_KERNELS_BASIC_SLICE_H
#define SR_KERNELS_BASIC_SLICE_H

typedef struct { // slice: entries begin .. begin + count - 1 of a dimension
    int begin, count;
    int dim; // 0: rows
} SrSliceParams;

#endif
