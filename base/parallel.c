// OpenMP behind three functions.
#include "base/parallel.h"

#include <omp.h>

#include "base/compiler.h"

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
    omp_set_dynamic(
        0); // a team smaller than announced would leave per-thread scratch sized wrongly
    flush_denormals_everywhere();
}

int sr_parallel_threads(void) { return omp_get_max_threads(); }

void sr_parallel_set_threads(int n) {
    omp_set_num_threads(SR_MAX(n, 1));
    flush_denormals_everywhere();
}

void sr_parallel_for(int64_t n, SrParallelBody body, void *arg) {
#pragma omp parallel for schedule(dynamic, 1) if (n > 1)
    for (int64_t i = 0; i < n; i++)
        body(arg, i, omp_get_thread_num());
}
