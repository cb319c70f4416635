// Threads by OpenMP: set-up, and a parallel loop in which threads take over work from each other.
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/compiler.h"

// Builds without OpenMP (fuzzers, a clang without its library) have one thread and ignore the
// pragmas.
#if defined(_OPENMP)
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
static void omp_set_num_threads(int n) { (void)n; }
static void omp_set_dynamic(int on) { (void)on; }
#endif

// Sets OpenBLAS's number of threads.  Declared here because distributions keep OpenBLAS's header in
// different folders.
void openblas_set_num_threads(int n);

// Sets the flag of every thread.  OpenMP reuses its threads, so one region of full size reaches
// them all.
static void flush_denormals_everywhere(void) {
    SR_FLUSH_DENORMALS();
#pragma omp parallel
    SR_FLUSH_DENORMALS();
}

// Runs in a child after fork: the threads do not survive fork, and libgomp would wait for them.
static void work_alone(void) { omp_set_num_threads(1); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, work_alone); }

// The handler is registered after OpenMP's first region. LLVM's OpenMP registers its own handler
// there, and ours may only call OpenMP after that one.
void sr_parallel_init(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    openblas_set_num_threads(1);
    omp_set_dynamic(0); // scratch buffers count on a team of the announced size
    flush_denormals_everywhere();
    pthread_once(&once, watch_forks);
}

int sr_parallel_threads(void) { return omp_get_max_threads(); }

void sr_parallel_set_threads(int n) {
    omp_set_num_threads(SR_MAX(n, 1));
    flush_denormals_everywhere();
}

// Remaining range of consecutive indices.  Each range fills a cache line, because threads mostly
// count in their own.
typedef struct {
    _Alignas(SR_ALIGN) atomic_llong next;
    int64_t end;
} Share;
enum { MOST_SHARES = 64 };

static void run_share(Share *share, SrParallelBody body, void *arg, int thread) {
    int64_t i;
    while ((i = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed)) < share->end)
        body(arg, i, thread);
}

// A thread takes its own share in order and then helps the others, because chunks are large and
// uneven.  Consecutive indices on one thread find shared data in its cache.  A piece of a tensor
// also reaches the thread that other kernels' static loops give it to, which helps where cores
// share no cache.  Results do not depend on the thread that computes an index.
void sr_parallel_for(int64_t n, SrParallelBody body, void *arg) {
    Share shares[MOST_SHARES];
    int count = (int)SR_MIN(n, SR_MIN(omp_get_max_threads(), MOST_SHARES));
    SR_ASSERT(n >= 0);
    for (int s = 0; s < count; s++) {
        atomic_init(&shares[s].next, n * s / count);
        shares[s].end = n * (s + 1) / count;
    }
#pragma omp parallel if (n > 1)
    for (int s = 0, thread = omp_get_thread_num(); s < count; s++)
        run_share(&shares[(thread + s) % count], body, arg, thread);
}
