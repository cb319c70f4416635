// Threads for computing, by OpenMP.
//
// All users keep one rule, so that results have the same bits for every number of threads.  Chunk
// sizes do not depend on the number of threads; one thread computes a chunk in a fixed order;
// partial sums are added in chunk order.
#ifndef SR_BASE_PARALLEL_H
#define SR_BASE_PARALLEL_H

#include <stdint.h>

// Prepares the threads; call it before the first computation.  OpenBLAS gets one thread per call,
// because our loops are parallel themselves.  Every thread flushes denormals to zero.  A child
// after fork computes with one thread.
void sr_parallel_init(void);
int sr_parallel_threads(void);       // number of threads of a parallel region
void sr_parallel_set_threads(int n); // for tests; 1 <= n

// Calls body(arg, i, thread) exactly once for each i in [0, n), with 0 <= thread <
// sr_parallel_threads().  Consecutive i mostly run on one thread, one after the other.
typedef void (*SrParallelBody)(void *arg, int64_t i, int thread);
void sr_parallel_for(int64_t n, SrParallelBody body, void *arg);

#endif
