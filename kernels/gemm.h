// The door to OpenBLAS: C = alpha * op(A) op(B) + beta * C, row-major, cut into blocks of fixed size that run
// on our threads with one OpenBLAS thread each, so that bits do not depend on the number of threads.
#ifndef SR_KERNELS_GEMM_H
#define SR_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

// C (m, n) = alpha op(A) op(B) + beta C, with leading dimension ldc; op(A) is (m, k), op(B) is (k, n); ta, tb: the stored matrix is the
// transpose.  The caller may be inside no parallel region.
void sr_gemm(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
             const float *b, int ldb, float beta, float *c, int ldc);

// The same on the calling thread alone, for the bodies of parallel loops.
void sr_gemm_here(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
                  const float *b, int ldb, float beta, float *c, int ldc);

// Each thread's first product makes OpenBLAS map work space of its own, and where the system refuses (ulimit -v) it asks
// again for ever.  This maps all of it now, for as many threads as there are: SR_ERR_MEMORY where there is no room.
// Called where memory for what will be multiplied is allocated; a second call costs nothing.
SrStatus sr_gemm_reserve(void);
// The part of that work space which products touch, so that it takes memory: bytes of all threads.
size_t sr_gemm_touched_bytes(void);

#endif
