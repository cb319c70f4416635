// Statistics of the columns of a matrix (rows, D), and what else losses share that look at features over a batch.
#ifndef SR_KERNELS_COLUMNS_H
#define SR_KERNELS_COLUMNS_H

#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"

// mean and var (D): over the rows, var divided by rows - correction.  Sums in double, rows in order.
void sr__column_moments(const float *x, int64_t rows, int D, int correction, float *mean,
                        float *var);
// z = (x - mean) * factor, a column's number each; factor NULL: 1.
void sr__columns_center(float *z, const float *x, int64_t rows, int D, const float *mean,
                        const float *factor);
// The gradient of z = (x - mean) invstd with both over all rows (var divided by rows), added to nothing:
// dx = invstd (dz - mean(dz) - z mean(dz z)).  dx may be dz.
void sr__columns_normalize_grad(float *dx, const float *dz, const float *z, int64_t rows, int D,
                                const float *invstd);

// A loss of embeddings x (2 N, D), the rows of view 0 before those of view 1: its shape rule, a scalar, and
// that its backward reads x.  SR_ERR_CONFIG below two rows a view, which have no variance.
SrStatus sr__two_views_infer(const char *op, const SrShape *x, int n_in, SrShape *y);
unsigned sr__two_views_reads(const void *params);

#endif
