// sr_parallel_for visits each index once, numbers its threads, keeps neighbouring indices on a
// thread, lets idle threads help, and flushes denormals on every thread.
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(test_each_index_once) {
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
    sr_parallel_set_threads(0); // counts as 1
    CHECK_INT(sr_parallel_threads(), 1);
    sr_parallel_set_threads(before);
}

enum { THREADS = 4 };

typedef struct {
    int64_t first[THREADS], last[THREADS]; // indices of each thread; -1: none yet
    _Atomic int started, expected,
        jumps; // threads that started; steps to an index that is not the next one
} Walk;

// Waits at the first index of each thread until all threads have started, so that none comes too
// late for its share.
static void walk(void *arg, int64_t i, int thread) {
    Walk *w = arg;
    if (w->first[thread] < 0) {
        w->first[thread] = i;
        w->started++;
    } else {
        w->jumps += i != w->last[thread] + 1;
    }
    w->last[thread] = i;
    while (w->started < w->expected)
        sched_yield();
}

TEST(test_neighbours_stay_on_a_thread) {
    int before = sr_parallel_threads();
    for (int threads = 1; threads <= THREADS; threads += THREADS - 1) {
        sr_parallel_set_threads(threads);
        if (sr_parallel_threads() < threads) // built without OpenMP
            break;
        Walk w = {.first = {-1, -1, -1, -1}, .expected = threads};
        sr_parallel_for(N, walk, &w);
        for (int t = 0; t < threads; t++)
            CHECK_INT(w.first[t], N * t / threads);
        if (threads == 1)
            CHECK_INT(w.jumps, 0);
    }
    sr_parallel_set_threads(before);
}

// Index 0 ends after all others: other threads must compute the rest of its share.
static void stall(void *arg, int64_t i, int thread) {
    _Atomic int *done = arg;
    (void)thread;
    while (i == 0 && *done < N - 1)
        sched_yield();
    ++*done;
}

TEST(test_idle_threads_help) {
    int before = sr_parallel_threads();
    // 80 threads are more than there are shares.
    for (int threads = 2; threads <= 80; threads += 78) {
        sr_parallel_set_threads(threads);
        if (sr_parallel_threads() < threads) // built without OpenMP
            break;
        _Atomic int done = 0;
        sr_parallel_for(N, stall, &done);
        CHECK_INT(done, N);
    }
    sr_parallel_set_threads(before);
}

static void halve_smallest(void *arg, int64_t i, int thread) {
    (void)i;
    _Atomic int *kept = arg;
    volatile float smallest_normal = 0x1p-126f;
    volatile float half = smallest_normal * 0.5f;
    kept[thread] += half != 0;
}

TEST(test_denormals_are_flushed_in_every_thread) {
#if defined(__SSE2__) || defined(__aarch64__)
    int before = sr_parallel_threads();
    sr_parallel_set_threads(4); // the new threads must also flush denormals
    _Atomic int kept[4] = {0};
    sr_parallel_for(200, halve_smallest, kept);
    for (int i = 0; i < 4; i++)
        CHECK_INT(kept[i], 0);
    sr_parallel_set_threads(before);
#else
    SKIP("this processor has no switch for denormals", NULL);
#endif
}

// After a fork the child has none of libgomp's threads: a loop there runs on one thread instead
// of waiting for them.
TEST(test_after_fork) {
    static Visits v;
    int status = 0;
    sr_parallel_set_threads(2);
    v = (Visits){.threads = 2};
    sr_parallel_for(N, visit, &v);
    pid_t child = fork();
    if (child == 0) {
        alarm(20); // kills a child that hangs
        v = (Visits){.threads = 1};
        sr_parallel_for(N, visit, &v);
        int visits = 0;
        for (int i = 0; i < N; i++)
            visits += v.visits[i] == 1;
        _exit(visits == N && v.bad_threads == 0 && sr_parallel_threads() == 1 ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_INT(sr_parallel_threads(), 2);
}

SR_TESTS(parallel, unit(test_each_index_once), unit(test_neighbours_stay_on_a_thread),
         unit(test_idle_threads_help), unit(test_denormals_are_flushed_in_every_thread),
         unit(test_after_fork))
