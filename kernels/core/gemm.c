// Matrix products, in blocks of C that run in parallel (gemm.h).
//
// Vectors multiply rows of op(A) by panels of op(B) (block_product.h).  `make bench-gemm` compares
// them with OpenBLAS's kernels for the same processor, and docs/lab/performance.md has its figures.
// On processors that OpenBLAS does not know it takes kernels that are far slower than both.
//
// A number of C is the sum of parts of DEPTH products each, from the first to the last.  Its bits
// depend neither on the blocks nor on the number of threads nor on the width of vectors.
#include "kernels/core/gemm.h"

#include <cblas.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "kernels/core/block_product.h"

// OpenBLAS's memory pool, which no header declares.  A library without these names maps its space
// during products.
SR_WEAK void *blas_memory_alloc(int position);
SR_WEAK void blas_memory_free(void *buffer);

static bool has_vectors(void) { return sr_machine_default()->level > SR_CPU_PLAIN; }

// ---- one block, on the calling thread -----------------------------------------------------------

enum {
    DEPTH = 128, // products of a part
    WIDTH = 64,  // columns of a panel, which fills 32 KiB
    MOST_M = 256,
    MOST_N = 1024,
    FEW_ROWS = 16,          // of C: copying B to panels would take longer than it saves
    FEW_COLUMNS = 2 * WIDTH // of C: copying A would
};

typedef struct {
    bool ta, tb;
    int m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int lda, ldb, ldc;
} Product;

static void scale(const Product *p) {
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++)
            p->c[(int64_t)i * p->ldc + j] *= p->beta;
}

// Returns rows l and up of op(B) in columns j and up: where they are, or copied to panel (DEPTH,
// WIDTH).  *row: floats from row to row.
static const float *panel_of(const Product *p, int l, int depth, int j, int columns, float *panel,
                             int *row) {
    const float *b = p->tb ? p->b + (int64_t)j * p->ldb + l : p->b + (int64_t)l * p->ldb + j;
    *row = WIDTH;
    if (p->tb) {
        sr__block_transpose(sr_machine_default(), b, p->ldb, columns, depth, panel, WIDTH);
        return panel;
    }
    if (p->m <= FEW_ROWS || p->ldb <= WIDTH) {
        *row = p->ldb;
        return b;
    }
    for (int i = 0; i < depth; i++)
        memcpy(panel + (int64_t)i * WIDTH, b + (int64_t)i * p->ldb, (size_t)columns * sizeof *b);
    return panel;
}

// Adds to all columns of C, or writes there if `add` is false, the part from l on.  a: that part of
// op(A), number (i, q) at i * a_row + q * a_step.  Rows of C that are computed together meet all
// vectors of a panel before the next rows do, because they stay in the first-level cache.
static void add_part(const Product *p, int l, int depth, const float *a, int64_t a_row,
                     int64_t a_step, bool add) {
    alignas(SR_ALIGN) float panel[DEPTH * WIDTH];
    int tile = sr__block_rows(sr_machine_default(), false), row;
    SrBlockProduct of = {.k = depth,
                         .alpha = p->alpha,
                         .a_row = a_row,
                         .a_step = a_step,
                         .c_row = p->ldc,
                         .add = add};
    for (int j = 0; j < p->n; j += WIDTH) {
        of.n = SR_MIN(WIDTH, p->n - j);
        of.b = panel_of(p, l, depth, j, of.n, panel, &row);
        of.b_row = row;
        for (int i = 0; i < p->m; i += tile) {
            of.m = SR_MIN(tile, p->m - i);
            of.a = a + i * a_row;
            of.c = p->c + (int64_t)i * p->ldc + j;
            sr__block_product(sr_machine_default(), &of);
        }
    }
}

// Columns of a stored A lie far apart; where each serves many columns of C, they are copied.
static void add_copied_part(const Product *p, int l, int depth, bool add) {
    alignas(SR_ALIGN) float copy[DEPTH * MOST_M];
    for (int q = 0; q < depth; q++)
        memcpy(copy + (int64_t)q * MOST_M, p->a + (int64_t)(l + q) * p->lda,
               (size_t)p->m * sizeof *copy);
    add_part(p, l, depth, copy, 1, MOST_M, add);
}

// Multiplies at most MOST_M rows.
static void multiply_block(const Product *p) {
    bool add = p->beta != 0;
    if (add && p->beta != 1)
        scale(p);
    for (int l = 0; l < SR_MAX(p->k, 1); l += DEPTH, add = true) {
        int depth = SR_MIN(DEPTH, p->k - l);
        if (!p->ta)
            add_part(p, l, depth, p->a + l, p->lda, 1, add);
        else if (p->n > FEW_COLUMNS && p->m > FEW_ROWS)
            add_copied_part(p, l, depth, add);
        else
            add_part(p, l, depth, p->a + (int64_t)l * p->lda, 1, p->lda, add);
    }
}

static void multiply(Product p) {
    if (p.n == 1 && p.m > 1 && p.ldc == 1) // the transpose of C fills vectors
        p = (Product){!p.tb, !p.ta, 1, p.m, p.k, p.alpha, p.beta, p.b, p.a, p.c, p.ldb, p.lda, p.m};
    for (int left = p.m; left > 0; left -= MOST_M) {
        p.m = SR_MIN(left, MOST_M);
        multiply_block(&p);
        p.a += p.ta ? MOST_M : (int64_t)MOST_M * p.lda;
        p.c += (int64_t)MOST_M * p.ldc;
    }
}

void sr_gemm_here(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
                  const float *b, int ldb, float beta, float *c, int ldc) {
    if (has_vectors())
        multiply((Product){ta, tb, m, n, k, alpha, beta, a, b, c, lda, ldb, ldc});
    else
        cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                    m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

// ---- all blocks ---------------------------------------------------------------------------------

// Halves the longer side until there are enough blocks for many cores, or until blocks become too
// small to be worth a call, which copies both operands.
static void choose_blocks(int m, int n, int k, int *mb, int *nb) {
    enum { BLOCKS = 32, SMALLEST_M = 64, SMALLEST_N = 128 };
    const int64_t least_work = 1 << 20; // multiplications of a block
    *mb = SR_MIN(m, MOST_M);
    *nb = SR_MIN(n, MOST_N);
    for (;;) {
        int64_t blocks = (int64_t)((m + *mb - 1) / *mb) * ((n + *nb - 1) / *nb);
        int *side = 2 * *mb > *nb ? mb : nb, smallest = side == mb ? SMALLEST_M : SMALLEST_N;
        if (blocks >= BLOCKS || *side <= smallest || (int64_t)*mb * *nb * k < 2 * least_work)
            return;
        *side = (*side / 2 + 15) / 16 * 16;
    }
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

// ---- the work space of OpenBLAS -----------------------------------------------------------------

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
    if (has_vectors() || threads <= reserved || !blas_memory_alloc || !blas_memory_free)
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

size_t sr_gemm_touched_bytes(void) {
    return has_vectors() ? 0 : (size_t)sr_parallel_threads() * TOUCHED;
}
