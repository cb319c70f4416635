// Matrix products: C = alpha * op(A) op(B) + beta * C, row-major.  C is cut into blocks of fixed
// size that run on our threads, so the bits do not depend on the number of threads.  Processors
// with vectors (every level but plain) multiply by our kernels, others by OpenBLAS.
#ifndef SR_KERNELS_CORE_GEMM_H
#define SR_KERNELS_CORE_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

// Computes C (m, n) = alpha op(A) op(B) + beta C; op(A) is (m, k), op(B) is (k, n).  ta, tb: the
// stored matrix is the transpose.  lda, ldb, ldc: floats from row to row of the stored matrices.
// Must not be called inside a parallel region.
void sr_gemm(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
             const float *b, int ldb, float beta, float *c, int ldc);

// sr_gemm on the calling thread alone, for the bodies of parallel loops.
void sr_gemm_here(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
                  const float *b, int ldb, float beta, float *c, int ldc);

// Maps OpenBLAS's work space for as many threads as there are, if products are OpenBLAS's.  Without
// it, each thread's first product maps the space; where the system refuses (ulimit -v), OpenBLAS
// tries again for ever.  SR_ERR_MEMORY: there is no room.  Call it where memory for operands is
// allocated; a second call costs nothing.
SrStatus sr_gemm_reserve(void);
// Returns the bytes of that work space that products touch, over all threads; 0: none is used.
size_t sr_gemm_touched_bytes(void);

#endif
