// Params of sinkhorn_rows.
#ifndef SR_KERNELS_ASSIGN_SINKHORN_ROWS_H
#define SR_KERNELS_ASSIGN_SINKHORN_ROWS_H

#include <stdbool.h>

typedef struct { // sinkhorn_rows
    int num_iters;
    bool probabilities; // rows sum to 1 before the first iteration
} SrSinkhornRowsParams;

#endif
