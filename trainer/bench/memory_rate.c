// Memory bandwidth: all threads copy pieces that are larger than their caches.
#include "trainer/bench/memory_rate.h"

#include <float.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"

enum { TRIES = 5 };
static const size_t piece_bytes = (size_t)64 << 20; // piece of a thread, many times its caches

typedef struct {
    char *from, *to;
} Copy;

// glibc's memcpy writes large copies past the caches, so each byte is read once and written once.
static void copy_piece(void *arg, int64_t i, int thread) {
    const Copy *c = arg;
    (void)thread;
    memcpy(c->to + (size_t)i * piece_bytes, c->from + (size_t)i * piece_bytes, piece_bytes);
}

static double least_seconds(Copy *c, int threads) {
    double best = DBL_MAX;
    for (int i = 0; i < TRIES; i++) {
        double began = sr_clock();
        sr_parallel_for(threads, copy_piece, c);
        double seconds = sr_clock() - began;
        best = SR_MIN(best, seconds);
    }
    return best;
}

double sr_bench_memory_rate(void) {
    int threads = sr_parallel_threads();
    size_t bytes = piece_bytes * (size_t)threads;
    Copy c = {sr_map(bytes), sr_map(bytes)};
    double rate = 0;
    if (c.from && c.to) {
        memset(c.from, 1,
               bytes); // untouched pages are all the same page of zeros
        memset(c.to, 1, bytes);
        rate = 2 * (double)bytes / least_seconds(&c, threads);
    }
    sr_unmap(c.from, bytes);
    sr_unmap(c.to, bytes);
    return rate;
}
