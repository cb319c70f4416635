// Cholesky's factor of small symmetric matrices in double, row-major.
#ifndef SR_KERNELS_CORE_CHOLESKY_H
#define SR_KERNELS_CORE_CHOLESKY_H

// Replaces the symmetric A (n, n), of which the lower triangle is read, by L with A = L L^T; above
// the diagonal L is 0.  Pivots below 1e-30 become 1e-30, as where features are equal.
void sr__cholesky(double *A, int n);
// Computes W = L^-1 (n, n), lower triangular.
void sr__lower_inverse(const double *L, double *W, int n);

#endif
