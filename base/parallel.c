// OpenMP behind three functions.
#include "base/parallel.h"

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

void sr_parallel_init(void) {
    openblas_set_num_threads(1);
    omp_set_dynamic(0); // a team smaller than announced would leave some scratch buffers unused
    flush_denormals_everywhere();
}

int sr_parallel_threads(void) { return omp_get_max_threads(); }

void sr_parallel_set_threads(int n) {
    omp_set_num_threads(SR_MAX(n, 1));
    flush_denormals_everywhere();
}

// One index at a time to whoever is free: chunks are large and uneven, and which thread computes
// one does not show in the result.
void sr_parallel_for(int64_t n, SrParallelBody body, void *arg) {
#pragma omp parallel for schedule(dynamic, 1) if (n > 1)
    for (int64_t i = 0; i < n; i++)
        body(arg, i, omp_get_thread_num());
}
