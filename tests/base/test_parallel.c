// sr_parallel_for visits each index once, tells threads apart, and no thread computes with
// denormals.
#include <stdatomic.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "tests/check.h"

enum { N = 1000 };

typedef struct {
    _Atomic int visits[N];
    _Atomic int bad_threads;
    int threads;
} Visits;

static void visit(void *arg, int64_t i, int thread) {
    Visits *v = arg;
    v->visits[i]++;
    if (thread < 0 || thread >= v->threads)
        v->bad_threads++;
}

static void test_each_index_once(void **state) {
    (void)state;
    int before = sr_parallel_threads();
    for (int threads = 1; threads <= 4; threads++) {
        static Visits v;
        v = (Visits){.threads = threads};
        sr_parallel_set_threads(threads);
        CHECK_INT(sr_parallel_threads(), threads);
        sr_parallel_for(N, visit, &v);
        for (int i = 0; i < N; i++)
            CHECK_INT(v.visits[i], 1);
        CHECK_INT(v.bad_threads, 0);
    }
    sr_parallel_for(0, visit, NULL);
    sr_parallel_set_threads(0); // is taken as 1
    CHECK_INT(sr_parallel_threads(), 1);
    sr_parallel_set_threads(before);
}

static void halve_smallest(void *arg, int64_t i, int thread) {
    (void)i;
    _Atomic int *kept = arg;
    volatile float smallest_normal = 0x1p-126f;
    volatile float half = smallest_normal * 0.5f;
    kept[thread] += half != 0;
}

static void test_denormals_are_flushed_in_every_thread(void **state) {
    (void)state;
#if defined(__SSE2__) || defined(__aarch64__)
    int before = sr_parallel_threads();
    sr_parallel_set_threads(4); // more than there were: the new ones must be told too
    _Atomic int kept[4] = {0};
    sr_parallel_for(200, halve_smallest, kept);
    for (int i = 0; i < 4; i++)
        CHECK_INT(kept[i], 0);
    sr_parallel_set_threads(before);
#else
    skip();
#endif
}

SR_TESTS(parallel, unit(test_each_index_once), unit(test_denormals_are_flushed_in_every_thread))
