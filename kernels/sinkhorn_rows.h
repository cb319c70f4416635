// Params of sinkhorn_rows.
#ifndef SR_KERNELS_SINKHORN_ROWS_H
#define SR_KERNELS_SINKHORN_ROWS_H

typedef struct { // sinkhorn_rows
    int num_iters;
} SrSinkhornRowsParams;

#endif
