// Speed of matrix products of one thread at shapes that the program has: GFLOP/s of sr_gemm_here and
// of OpenBLAS, in turn.  `make bench-gemm` runs it.  OPENBLAS_CORETYPE chooses OpenBLAS's kernels.
// Times are processor time, of which the fastest of ROUNDS counts.
#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "kernels/core/gemm.h"

enum { ROUNDS = 7 };
#define WORK 3e8 // operations of a round

typedef struct {
    const char *what;
    bool ta, tb;
    int m, n, k;
} Shape;

static const Shape shapes[] = {
    {"x w^T of a head, many rows", false, true, 256, 1024, 128},
    {"x w^T of a head, few rows", false, true, 8, 512, 1024},
    {"dy w of a head", false, false, 64, 1024, 256},
    {"dy^T x of a head", true, false, 512, 512, 256},
    {"queries with a queue of keys", false, false, 256, 4096, 128},
    {"similarities of a batch", false, true, 512, 512, 128},
    {"covariance of features", true, false, 256, 512, 512},
    {"queries and keys of a head", false, true, 197, 197, 64},
    {"attention and values of a head", false, false, 197, 64, 197},
    {"scores of 10 classes", false, false, 64, 10, 512},
    {"gradient of 10 classes", true, false, 10, 512, 64},
    {"gradient of 100 classes", true, false, 100, 512, 64},
    {"rows with centroids", false, true, 128, 3000, 512},
    {"distances to one row", false, true, 128, 1, 512},
    {"a large square", false, false, 256, 1024, 2048},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void multiply(const Shape *s, bool ours, const float *a, const float *b, float *c) {
    int lda = s->ta ? s->m : s->k, ldb = s->tb ? s->k : s->n;
    if (ours)
        sr_gemm_here(s->ta, s->tb, s->m, s->n, s->k, 1, a, lda, b, ldb, 0, c, s->n);
    else
        cblas_sgemm(CblasRowMajor, s->ta ? CblasTrans : CblasNoTrans,
                    s->tb ? CblasTrans : CblasNoTrans, s->m, s->n, s->k, 1, a, lda, b, ldb, 0, c,
                    s->n);
}

static void measure(const Shape *s, const float *a, const float *b, float *c) {
    double flops = 2.0 * s->m * s->n * s->k, best[2] = {INFINITY, INFINITY};
    int times = (int)(WORK / flops) + 1;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        double start = now();
        for (int i = 0; i < times; i++)
            multiply(s, round % 2, a, b, c);
        best[round % 2] = fmin(best[round % 2], (now() - start) / times);
    }
    printf("%-32s %5d %5d %5d %s%s %7.1f %7.1f  %.2f\n", s->what, s->m, s->n, s->k,
           s->ta ? "T" : "N", s->tb ? "T" : "N", flops / best[1] * 1e-9, flops / best[0] * 1e-9,
           best[0] / best[1]);
}

int main(void) {
    enum { LARGEST = 1 << 22 };
    SrRng rng = sr_rng(0, SR_RNG_TEST, 0, 0, 0, 0);
    float *memory = malloc(3 * (size_t)LARGEST * sizeof *memory);
    if (!memory)
        return 1;
    sr_rng_fill_range(&rng, -1, 1, memory, 3 * LARGEST);
    printf("product                              m     n     k    GFLOP/s  OpenBLAS  ratio\n");
    for (int i = 0; i < SR_COUNT(shapes); i++)
        measure(&shapes[i], memory, memory + LARGEST, memory + 2 * LARGEST);
    free(memory);
    return 0;
}
