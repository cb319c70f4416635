// Statistics of the columns of a matrix (rows, D), and helpers of losses that compare features over
// a batch.
#ifndef SR_KERNELS_LOSSES_COLUMNS_H
#define SR_KERNELS_LOSSES_COLUMNS_H

#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"

// Writes mean and var (D) over the rows; var is divided by rows - correction.  Sums are in double,
// rows in order.
void sr__column_moments(const float *x, int64_t rows, int D, int correction, float *mean,
                        float *var);
// Computes z = (x - mean) * factor, with mean and factor per column; factor NULL: 1.
void sr__columns_center(float *z, const float *x, int64_t rows, int D, const float *mean,
                        const float *factor);
// Writes the gradient of z = (x - mean) invstd, where both statistics are over all rows (var
// divided by rows): dx = invstd (dz - mean(dz) - z mean(dz z)).  dx may be dz.
void sr__columns_normalize_grad(float *dx, const float *dz, const float *z, int64_t rows, int D,
                                const float *invstd);

// `infer` of a loss of embeddings x (2 N, D), the rows of view 0 before those of view 1: the output
// is a scalar.  SR_ERR_CONFIG: fewer than two rows per view, which have no variance.
SrStatus sr__two_views_infer(const char *op, const SrShape *x, int n_in, SrShape *y);

#endif
