// The door to OpenBLAS: C = alpha * op(A) op(B) + beta * C, row-major, cut into blocks of fixed size that run
// on our threads with one OpenBLAS thread each, so that bits do not depend on the number of threads.
#ifndef SR_KERNELS_GEMM_H
#define SR_KERNELS_GEMM_H

#include <stdbool.h>

// C (m, n) with leading dimension ldc; op(A) is (m, k), op(B) is (k, n); ta, tb: the stored matrix is the
// transpose.  The caller may be inside no parallel region.
void sr_gemm(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
             const float *b, int ldb, float beta, float *c, int ldc);

// The same on the calling thread alone, for the bodies of parallel loops.
void sr_gemm_here(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
                  const float *b, int ldb, float beta, float *c, int ldc);

#endif
