// Tests the matrix product sr_gemm against plain loops in double precision over random shapes,
// transposes, strides and factors.
#include "kernels/core/gemm.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/machine.h"
#include "tests/check.h"
#include "tests/skip.h"

static float *draw(SrRng *rng, int n) {
    float *p = sr_alloc((size_t)n * sizeof *p);
    CHECK(p != NULL);
    for (int i = 0; i < n; i++)
        p[i] = (float)sr_rng_normal(rng);
    return p;
}

typedef struct {
    bool ta, tb;
    int m, n, k, lda, ldb, ldc;
    float alpha, beta;
} Product;

static Product random_product(SrRng *rng, int largest) {
    Product p = {.ta = sr_rng_below(rng, 2), .tb = sr_rng_below(rng, 2)};
    p.m = 1 + (int)sr_rng_below(rng, (uint32_t)largest);
    p.n = 1 + (int)sr_rng_below(rng, (uint32_t)largest);
    p.k = 1 + (int)sr_rng_below(rng, (uint32_t)largest);
    p.lda = (p.ta ? p.m : p.k) + (int)sr_rng_below(rng, 3);
    p.ldb = (p.tb ? p.k : p.n) + (int)sr_rng_below(rng, 3);
    p.ldc = p.n + (int)sr_rng_below(rng, 3);
    p.alpha = sr_rng_below(rng, 2) ? 1 : -0.5f;
    p.beta = (float)sr_rng_below(rng, 3) / 2;
    return p;
}

static double expected(const Product *p, const float *a, const float *b, double c, int i, int j) {
    double sum = 0;
    for (int l = 0; l < p->k; l++)
        sum += (double)a[p->ta ? l * p->lda + i : i * p->lda + l] *
               (double)b[p->tb ? j * p->ldb + l : l * p->ldb + j];
    return (double)p->alpha * sum + (p->beta != 0 ? (double)p->beta * c : 0);
}

static void check_product(const Product *p, SrRng *rng) {
    float *a = draw(rng, (p->ta ? p->k : p->m) * p->lda),
          *b = draw(rng, (p->tb ? p->n : p->k) * p->ldb);
    float *c = draw(rng, p->m * p->ldc), *before = draw(rng, p->m * p->ldc);
    memcpy(before, c, (size_t)(p->m * p->ldc) * sizeof *c);
    if (p->beta == 0)
        c[0] = NAN; // beta 0 overwrites NaN
    sr_gemm(p->ta, p->tb, p->m, p->n, p->k, p->alpha, a, p->lda, b, p->ldb, p->beta, c, p->ldc);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->ldc; j++) {
            int at = i * p->ldc + j;
            double want = (double)before[at];
            if (j < p->n)
                want = expected(p, a, b, (double)before[at], i, j);
            CHECK_NEAR(c[at], want, 1e-5 * (fabs(want) + sqrt(p->k)));
        }
    sr_free(a);
    sr_free(b);
    sr_free(c);
    sr_free(before);
}

TEST(test_random_products) {
    SrRng rng = sr_rng(1, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 60; i++) {
        Product p = random_product(&rng, i < 50 ? 40 : 200);
        check_product(&p, &rng);
    }
    Product wide = {.m = 70, .n = 1100, .k = 33, .lda = 33, .ldb = 1100, .ldc = 1100, .alpha = 1};
    check_product(&wide, &rng); // several blocks and a remainder
}

TEST(test_threads) {
    enum { M = 300, N = 700, K = 150 };
    SrRng rng = sr_rng(2, SR_RNG_TEST, 0, 0, 0, 0);
    float *a = draw(&rng, M * K), *b = draw(&rng, N * K), *one = draw(&rng, M * N),
          *c = draw(&rng, M * N);
    int before = sr_parallel_threads();
    for (int threads = 1; threads <= 3; threads++) {
        sr_parallel_set_threads(threads);
        sr_gemm(false, true, M, N, K, 1, a, K, b, K, 0, threads == 1 ? one : c, N);
        if (threads > 1)
            CHECK(memcmp(one, c, M * N * sizeof *c) == 0);
    }
    sr_parallel_set_threads(before);
    sr_free(a);
    sr_free(b);
    sr_free(one);
    sr_free(c);
}

// A number of C has the same bits in a product of one row and in one of one column, which takes
// other ways.
TEST(test_bits_of_parts) {
    enum { M = 300, N = 150, K = 290 };
    if (sr_machine_default()->level == SR_CPU_PLAIN)
        SKIP("OpenBLAS does not promise it", NULL);
    SrRng rng = sr_rng(3, SR_RNG_TEST, 0, 0, 0, 0);
    float *a = draw(&rng, M * K), *b = draw(&rng, N * K), *c = draw(&rng, M * N), part[M];
    for (int t = 0; t < 4; t++) {
        bool ta = t & 1, tb = t & 2;
        int lda = ta ? M : K, ldb = tb ? K : N;
        sr_gemm(ta, tb, M, N, K, 0.3f, a, lda, b, ldb, 0, c, N);
        for (int i = 0; i < M; i += 13) {
            sr_gemm(ta, tb, 1, N, K, 0.3f, a + (ta ? i : i * lda), lda, b, ldb, 0, part, N);
            CHECK(memcmp(part, c + i * N, N * sizeof *c) == 0);
        }
        for (int j = 0; j < N; j += 13) {
            sr_gemm(ta, tb, M, 1, K, 0.3f, a, lda, b + (tb ? j * ldb : j), ldb, 0, part, 1);
            for (int i = 0; i < M; i++)
                CHECK(part[i] == c[i * N + j]);
        }
    }
    sr_free(a);
    sr_free(b);
    sr_free(c);
}

TEST(test_empty) {
    float c[2] = {3, 4}, none = 0;
    sr_gemm(false, false, 0, 2, 1, 1, &none, 1, &none, 2, 0, c, 2);
    CHECK(c[0] == 3 && c[1] == 4);
}

SR_TESTS(gemm, unit(test_random_products), unit(test_threads), unit(test_bits_of_parts),
         unit(test_empty))
