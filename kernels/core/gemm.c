// Matrix products by OpenBLAS, in blocks of C that run in parallel (gemm.h).
//
// Block sizes follow from (m, n, k) alone and k is never cut.  Each number of C is thus one dot
// product, computed in one order whatever the number of threads.
#include "kernels/core/gemm.h"

#include <cblas.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/machine.h"
#include "base/parallel.h"

// OpenBLAS's memory pool, which no header declares.  A library without these names maps its space
// during products.
SR_WEAK void *blas_memory_alloc(int position);
SR_WEAK void blas_memory_free(void *buffer);

// Halves the longer side until there are enough blocks for many cores, or until blocks become too
// small to be worth a call (OpenBLAS packs both operands in each call).
static void choose_blocks(int m, int n, int k, int *mb, int *nb) {
    enum { BLOCKS = 32, SMALLEST_M = 64, SMALLEST_N = 128 };
    const int64_t least_work = 1 << 20; // multiplications of a block
    *mb = SR_MIN(m, 512);
    *nb = SR_MIN(n, 1024);
    for (;;) {
        int64_t blocks = (int64_t)((m + *mb - 1) / *mb) * ((n + *nb - 1) / *nb);
        int *side = 2 * *mb > *nb ? mb : nb, smallest = side == mb ? SMALLEST_M : SMALLEST_N;
        if (blocks >= BLOCKS || *side <= smallest || (int64_t)*mb * *nb * k < 2 * least_work)
            return;
        *side = (*side / 2 + 15) / 16 * 16;
    }
}

void sr_gemm_here(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
                  const float *b, int ldb, float beta, float *c, int ldc) {
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n,
                k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void sr_gemm(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
             const float *b, int ldb, float beta, float *c, int ldc) {
    if (m <= 0 || n <= 0)
        return;
    SR_ASSERT(lda >= (ta ? m : k) && ldb >= (tb ? k : n) && ldc >= n);
    int mb, nb;
    choose_blocks(m, n, k, &mb, &nb);
    int m_blocks = (m + mb - 1) / mb, n_blocks = (n + nb - 1) / nb;
#pragma omp parallel for schedule(dynamic) if (m_blocks * n_blocks > 1)
    for (int block = 0; block < m_blocks * n_blocks; block++) {
        ptrdiff_t i = (ptrdiff_t)(block / n_blocks) * mb, j = (ptrdiff_t)(block % n_blocks) * nb;
        const float *ai = ta ? a + i : a + i * lda, *bj = tb ? b + j * ldb : b + j;
        sr_gemm_here(ta, tb, SR_MIN(mb, m - (int)i), SR_MIN(nb, n - (int)j), k, alpha, ai, lda, bj,
                     ldb, beta, c + i * ldc + j, ldc);
    }
}

// OpenBLAS's BUFFER_SIZE is 128 MiB on x86-64 (32 << 22) and at most that elsewhere; a page for
// alignment comes on top.
enum { WORK_SPACE = (128 << 20) + (1 << 16), TOUCHED = 5 << 20, MOST_THREADS = 1024 };

static SrStatus no_room(int threads) {
    char need[32], left[32];
    size_t room = sr_address_space_left();
    SR_FAIL(SR_ERR_MEMORY,
            "OpenBLAS needs %s of address space for %d threads%s%s%s; raise the limit or use fewer "
            "threads (OMP_NUM_THREADS=1)",
            sr_bytes_text((double)threads * WORK_SPACE, need, sizeof need), threads,
            room == SIZE_MAX ? "" : ", and the limit (ulimit -v) leaves ",
            room == SIZE_MAX ? "" : sr_bytes_text((double)room, left, sizeof left), "");
}

// A mapping of the same size is tried first: a refusal is an error here, while OpenBLAS would try
// for ever.
SrStatus sr_gemm_reserve(void) {
    static int reserved; // threads whose work space is mapped
    void *buffers[MOST_THREADS];
    int threads = SR_MIN(sr_parallel_threads(), MOST_THREADS);
    if (threads <= reserved || !blas_memory_alloc || !blas_memory_free)
        return SR_OK;
    size_t more = (size_t)(threads - reserved) * WORK_SPACE;
    void *trial = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return no_room(threads - reserved);
    munmap(trial, more);
    for (int i = 0; i < threads; i++)
        buffers[i] = blas_memory_alloc(0);
    for (int i = 0; i < threads; i++)
        blas_memory_free(buffers[i]);
    reserved = threads;
    return SR_OK;
}

size_t sr_gemm_touched_bytes(void) { return (size_t)sr_parallel_threads() * TOUCHED; }
