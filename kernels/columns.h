// Statistics of the columns of a matrix (rows, D), for losses that look at features over a batch.
#ifndef SR_KERNELS_COLUMNS_H
#define SR_KERNELS_COLUMNS_H

#include <stdint.h>

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

#endif
