// All heap memory of the project.  Allocations are counted, and tests can make one fail.
//
// A training step allocates nothing: tests/trainer checks that the count stays the same.
#ifndef SR_BASE_MEM_H
#define SR_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

// Returns NULL when memory is out or a test asked for a failure; 0 bytes give a unique pointer.
void *sr_alloc(size_t bytes);
void *sr_calloc(size_t count, size_t bytes); // zeroed; checks the product for overflow
void *sr_realloc(void *p, size_t bytes);     // p may be NULL; on failure p stays valid
void sr_free(void *p);                       // p may be NULL
char *sr_strdup(const char *s);              // NULL when memory is out

// Maps a large block for activations or parameters: zeroed, aligned to 64 bytes, with huge pages if
// the system has them.  sr_unmap returns it to the system.  NULL: memory is out.
void *sr_map(size_t bytes);
void sr_unmap(void *p, size_t bytes);
// Maps memory as sr_map does.  A child after fork shares it instead of getting a copy.
void *sr_map_shared(size_t bytes);

// Returns free pages of the heap to the system.  The C library returns them only from the heap's
// end, and one small block there keeps everything below it.
void sr_mem_trim(void);

// Returns the number of allocation calls (alloc, calloc, realloc, strdup, map) of this process.
int64_t sr_mem_calls(void);
// Returns the number of blocks that are not freed yet, for leak tests.
int64_t sr_mem_live(void);
// Return the bytes in these blocks, as the system counts them, and their maximum since
// sr_mem_peak_reset.  Tests measure with them how much memory a file makes the program allocate.
int64_t sr_mem_bytes(void);
int64_t sr_mem_peak(void);
void sr_mem_peak_reset(void);
// Makes the n-th allocation call from now on fail, for fault tests; 1: the next, 0: none.
void sr_mem_fail_at(int64_t n);

#endif
