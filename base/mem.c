// The counting allocator: malloc and mmap with counters, and a fuse that makes one call fail.
//
// Counters are atomic because loader threads allocate too.  The fuse counts the calls of all
// threads; fault tests use one thread.
#include "base/mem.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic int64_t calls, live, bytes_now, bytes_peak;
static _Atomic int64_t fuse; // calls until the one that fails; 0: off

// Counts one call; false: this call has to fail.
static bool permit(void) {
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (atomic_load_explicit(&fuse, memory_order_relaxed) <= 0)
        return true;
    return atomic_fetch_sub_explicit(&fuse, 1, memory_order_relaxed) != 1;
}

static void count_bytes(int64_t change) {
    int64_t now = atomic_fetch_add_explicit(&bytes_now, change, memory_order_relaxed) + change;
    int64_t peak = atomic_load_explicit(&bytes_peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak(&bytes_peak, &peak, now))
        ; // the failed exchange has read peak again
}

// Asks malloc for the size, so that blocks need no header.
static int64_t size_of(void *p) { return (int64_t)malloc_usable_size(p); }

static void *count_live(void *p, int64_t bytes) {
    if (!p)
        return NULL;
    atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    count_bytes(bytes);
    return p;
}

static void *count_block(void *p) { return count_live(p, size_of(p)); }

// Refuses more than PTRDIFF_MAX, the largest size of an object: sanitizers report such requests as
// errors.
static bool is_possible(size_t bytes) { return bytes <= PTRDIFF_MAX; }

void *sr_alloc(size_t bytes) {
    return permit() && is_possible(bytes) ? count_block(malloc(bytes ? bytes : 1)) : NULL;
}

void *sr_calloc(size_t count, size_t bytes) {
    if (!permit() || (bytes && count > PTRDIFF_MAX / bytes))
        return NULL;
    bool empty = count == 0 || bytes == 0;
    return count_block(calloc(empty ? 1 : count, empty ? 1 : bytes));
}

void *sr_realloc(void *p, size_t bytes) {
    if (!permit() || !is_possible(bytes))
        return NULL;
    int64_t before = size_of(p); // 0 for NULL
    void *grown = realloc(p, bytes ? bytes : 1);
    if (!p)
        return count_block(grown);
    if (grown)
        count_bytes(size_of(grown) - before);
    return grown;
}

void sr_free(void *p) {
    if (!p)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    count_bytes(-size_of(p));
    free(p);
}

char *sr_strdup(const char *s) {
    size_t bytes = strlen(s) + 1;
    char *copy = sr_alloc(bytes);
    return copy ? memcpy(copy, s, bytes) : NULL;
}

// mmap aligns to pages, more than the 64 bytes promised.  The request for huge pages may fail,
// which costs speed only.
static void *map(size_t bytes, int kind) {
    if (!permit())
        return NULL;
    void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    (void)madvise(p, bytes, MADV_HUGEPAGE);
    return count_live(p, (int64_t)bytes);
}

void *sr_map(size_t bytes) { return map(bytes, MAP_PRIVATE); }

void *sr_map_shared(size_t bytes) { return map(bytes, MAP_SHARED); }

void sr_unmap(void *p, size_t bytes) {
    if (!p)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    count_bytes(-(int64_t)bytes);
    munmap(p, bytes ? bytes : 1);
}

void sr_mem_trim(void) { (void)malloc_trim(0); }

int64_t sr_mem_calls(void) { return atomic_load(&calls); }
int64_t sr_mem_live(void) { return atomic_load(&live); }
int64_t sr_mem_bytes(void) { return atomic_load(&bytes_now); }
int64_t sr_mem_peak(void) { return atomic_load(&bytes_peak); }
void sr_mem_peak_reset(void) { atomic_store(&bytes_peak, atomic_load(&bytes_now)); }
void sr_mem_fail_at(int64_t n) { atomic_store(&fuse, n); }
