// Threads for computing: OpenMP behind three functions, and the rule that keeps bits the same.
//
// The rule: work is cut into chunks whose sizes do not depend on the number of threads, a chunk is
// computed by one thread in one order, and partial sums are added in chunk order.
#ifndef SR_BASE_PARALLEL_H
#define SR_BASE_PARALLEL_H

#include <stdint.h>

// Called before a thread computes first: one thread per OpenBLAS call (our loops are the parallel ones), denormals
// flushed to zero in every thread of the team, and a team of one in a child after fork.
void sr_parallel_init(void);
int sr_parallel_threads(void);       // the size of the team a parallel region gets
void sr_parallel_set_threads(int n); // for tests; 1 <= n

// body(arg, i, thread) for i in [0, n), each i exactly once on any thread, 0 <= thread < threads; neighbouring i mostly
// on one thread, one after the other.
typedef void (*SrParallelBody)(void *arg, int64_t i, int thread);
void sr_parallel_for(int64_t n, SrParallelBody body, void *arg);

#endif
