// OpenMP behind three functions.
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/compiler.h"

// Without OpenMP (fuzzers, a clang without its library) there is one thread and the pragmas say
// nothing.
#if defined(_OPENMP)
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
static void omp_set_num_threads(int n) { (void)n; }
static void omp_set_dynamic(int on) { (void)on; }
#endif

// OpenBLAS's own control, declared here because cblas.h moves between distributions' folders.
void openblas_set_num_threads(int n);

// The flag is per thread and teams are pooled, so one region of the full size reaches all who will
// work.
static void flush_denormals_everywhere(void) {
    SR_FLUSH_DENORMALS();
#pragma omp parallel
    SR_FLUSH_DENORMALS();
}

// The threads of a team do not survive fork, and libgomp would wait for them: the child computes alone.
static void work_alone(void) { omp_set_num_threads(1); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, work_alone); }

void sr_parallel_init(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    openblas_set_num_threads(1);
    omp_set_dynamic(0); // a team smaller than announced would leave some scratch buffers unused
    flush_denormals_everywhere();
}

int sr_parallel_threads(void) { return omp_get_max_threads(); }

void sr_parallel_set_threads(int n) {
    omp_set_num_threads(SR_MAX(n, 1));
    flush_denormals_everywhere();
}

// What is left of a run of neighbouring indices; a cache line each, as threads count in their own most of the time.
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

// A thread takes its own share in order, then helps the others: chunks are large and uneven.  Neighbours on one
// thread find in its caches what they have in common and what was fetched ahead, and pieces of a tensor come to the
// thread that the static loops of other kernels give them to, which matters where cores do not share a cache.
// Which thread computes an index does not show in the result.
void sr_parallel_for(int64_t n, SrParallelBody body, void *arg) {
    Share shares[MOST_SHARES];
    int count = (int)SR_MIN(n, SR_MIN(omp_get_max_threads(), MOST_SHARES));
    for (int s = 0; s < count; s++) {
        atomic_init(&shares[s].next, n * s / count);
        shares[s].end = n * (s + 1) / count;
    }
#pragma omp parallel if (n > 1)
    for (int s = 0, thread = omp_get_thread_num(); s < count; s++)
        run_share(&shares[(thread + s) % count], body, arg, thread);
}
