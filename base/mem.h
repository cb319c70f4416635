// All heap memory of the project: countable, and able to fail on demand.
//
// Nothing here is called inside a training step (tests/trainer checks the count does not move).
#ifndef SR_BASE_MEM_H
#define SR_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

// NULL when memory is out (or told to fail); a request of 0 bytes gives a unique pointer.
void *sr_alloc(size_t bytes);
void *sr_calloc(size_t count, size_t bytes); // zeroed; checks the product for overflow
void *sr_realloc(void *p, size_t bytes);     // p may be NULL; on failure p stays valid
void sr_free(void *p);                       // p may be NULL
char *sr_strdup(const char *s);              // NULL when memory is out

// Large blocks for activations and parameters: 64-byte aligned, zeroed, huge pages asked for
// (madvise), given back to the system by sr_unmap.  Counted like the rest.
void *sr_map(size_t bytes);
void sr_unmap(void *p, size_t bytes);

// How many allocation calls (alloc, calloc, realloc, strdup, map) this process has made.
int64_t sr_mem_calls(void);
// Blocks not yet freed, for leak tests.
int64_t sr_mem_live(void);
// Bytes in those blocks, as the system counts them, and the most there were since sr_mem_peak_reset,
// for tests of what a file can make us allocate.
int64_t sr_mem_bytes(void);
int64_t sr_mem_peak(void);
void sr_mem_peak_reset(void);
// The n-th allocation call from now on fails (1 = the next); 0 switches that off.  For fault tests.
void sr_mem_fail_at(int64_t n);

#endif
