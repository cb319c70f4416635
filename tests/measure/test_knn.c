// Tests weighted kNN against a plain O(n^2) version; ties, bounds, row lengths, NaN, and the
// overflow that VISSL's version has.
#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "measure/neighbours/knn.h"
#include "tests/check.h"

static void fill(SrMatrix *f, float *x, int64_t *label, int64_t n, int d, int classes,
                 uint64_t seed) {
    SrRng rng = sr_rng(seed, SR_RNG_TEST, 0, 0, 0, 0);
    *f = (SrMatrix){.n = n, .d = d, .x = x, .label = label};
    for (int64_t i = 0; i < n; i++) {
        label[i] = (int64_t)sr_rng_below(&rng, (uint32_t)classes);
        for (int j = 0; j < d; j++)
            x[i * d + j] = (float)(sr_rng_normal(&rng) + (j == label[i] ? 1.5 : 0));
    }
}

// Classifies one test row by the definition, sorting all similarities.
static int plain_knn(const SrMatrix *train, const float *t, int k, double sigma, int classes) {
    double votes[16] = {0}, sim[700];
    bool used[700] = {false};
    for (int64_t i = 0; i < train->n; i++) {
        sim[i] = 0;
        for (int j = 0; j < train->d; j++)
            sim[i] += (double)t[j] * (double)train->x[i * train->d + j];
    }
    for (int r = 0; r < k; r++) {
        int64_t best = -1;
        for (int64_t i = 0; i < train->n; i++)
            if (!used[i] && (best < 0 || sim[i] > sim[best]))
                best = i;
        used[best] = true;
        votes[train->label[best]] += exp(sim[best] / sigma);
    }
    int top = 0;
    for (int c = 1; c < classes; c++)
        if (votes[c] > votes[top])
            top = c;
    return top;
}

TEST(test_against_definition) {
    enum { TRAIN = 613, TEST = 301, D = 24, C = 7 };
    static float x[TRAIN * D], t[TEST * D];
    static int64_t lx[TRAIN], lt[TEST], ranked[2 * TEST * SR_KNN_TOP];
    SrMatrix train, test;
    fill(&train, x, lx, TRAIN, D, C, 1);
    fill(&test, t, lt, TEST, D, C, 2);
    const int k[2] = {1, 20};
    SrKnnResult result[2];
    SrKnnOptions o = {.sigma = 0.1, .l2_norm = true};
    CHECK_OK(sr_knn(&o, &train, &test, k, 2, result, ranked));
    for (int j = 0; j < 2; j++) {
        int hits = 0;
        for (int i = 0; i < TEST; i++) {
            int expected = plain_knn(&train, t + i * D, k[j], 0.1, C);
            CHECK_INT(ranked[(j * TEST + i) * SR_KNN_TOP], expected);
            hits += expected == lt[i];
        }
        CHECK_NEAR(result[j].top1, 100.0 * hits / TEST, 1e-9);
        CHECK_INT(result[j].n, TEST);
    }
    CHECK(result[1].top5 > result[1].top1);
}

TEST(test_ties_and_bounds) {
    // Four equal training rows: k = 2 takes the first two, whose classes tie, and the smaller
    // class wins.
    float x[4 * 2] = {1, 0, 1, 0, 1, 0, 1, 0}, t[2] = {1, 0};
    int64_t lx[4] = {3, 2, 0, 0}, lt[1] = {2}, ranked[2 * SR_KNN_TOP];
    SrMatrix train = {.n = 4, .d = 2, .x = x, .label = lx},
             test = {.n = 1, .d = 2, .x = t, .label = lt};
    const int k[2] = {2, 100};
    SrKnnResult result[2];
    SrKnnOptions o = {.sigma = 0.1};
    CHECK_OK(sr_knn(&o, &train, &test, k, 2, result, ranked));
    CHECK_INT(ranked[0], 2);
    CHECK_INT(ranked[1], 3);
    CHECK_INT(ranked[SR_KNN_TOP], 0); // all four rows vote
    CHECK_INT(ranked[SR_KNN_TOP + 4], -1);
    CHECK_INT(result[1].k, 4);
    CHECK_NEAR(result[0].top1, 100, 0);
    // Rows without a label neither vote nor count.
    lx[0] = lx[1] = -1;
    lt[0] = -1;
    CHECK_OK(sr_knn(&o, &train, &test, k, 1, result, ranked));
    CHECK_INT(ranked[0], 0);
    CHECK_INT(result[0].n, 0);
    lx[2] = lx[3] = -1;
    CHECK_FAILS(sr_knn(&o, &train, &test, k, 1, result, NULL), SR_ERR_CONFIG, "labelled");
    test.d = 1;
    CHECK_FAILS(sr_knn(&o, &train, &test, k, 1, result, NULL), SR_ERR_CONFIG, "length");
}

TEST(test_large_similarities) {
    // exp(100 / 0.1) overflows, but only ratios matter: the closer row wins.
    float x[3 * 1] = {100, 99, 98}, t[1] = {1};
    int64_t lx[3] = {1, 0, 2}, lt[1] = {1}, ranked[SR_KNN_TOP];
    SrMatrix train = {.n = 3, .d = 1, .x = x, .label = lx},
             test = {.n = 1, .d = 1, .x = t, .label = lt};
    const int k = 3;
    SrKnnResult result;
    SrKnnOptions o = {.sigma = 0.1};
    CHECK_OK(sr_knn(&o, &train, &test, &k, 1, &result, ranked));
    CHECK_INT(ranked[0], 1);
    CHECK_INT(ranked[1], 0);
    // VISSL: two neighbours overflow to infinity, infinity times 0 is NaN in every class, and the
    // classes keep their order.
    o.vissl_overflow = true;
    CHECK_OK(sr_knn(&o, &train, &test, &k, 1, &result, ranked));
    CHECK_INT(ranked[0], 0);
    CHECK_INT(ranked[1], 1);
    // One neighbour overflows: its class alone is no NaN, and PyTorch sorts NaN before numbers.
    x[1] = x[2] = 1;
    CHECK_OK(sr_knn(&o, &train, &test, &k, 1, &result, ranked));
    CHECK_INT(ranked[0], 0);
    CHECK_INT(ranked[1], 2);
    CHECK_INT(ranked[2], 1);
}

TEST(test_threads) {
    enum { TRAIN = 5000, TEST = 300, D = 16 };
    float *x = sr_alloc(sizeof(float) * TRAIN * D), *t = sr_alloc(sizeof(float) * TEST * D);
    int64_t *lx = sr_alloc(sizeof(int64_t) * TRAIN), *lt = sr_alloc(sizeof(int64_t) * TEST);
    static int64_t ranked[2][TEST * SR_KNN_TOP];
    SrMatrix train, test;
    fill(&train, x, lx, TRAIN, D, 10, 3);
    fill(&test, t, lt, TEST, D, 10, 4);
    const int k = 50;
    SrKnnResult result;
    SrKnnOptions o = {.sigma = 0.07, .l2_norm = true};
    int before = sr_parallel_threads();
    for (int n = 1; n <= 2; n++) {
        sr_parallel_set_threads(n);
        CHECK_OK(sr_knn(&o, &train, &test, &k, 1, &result, ranked[n - 1]));
    }
    sr_parallel_set_threads(before);
    CHECK(memcmp(ranked[0], ranked[1], sizeof ranked[0]) == 0);
    sr_free(x);
    sr_free(t);
    sr_free(lx);
    sr_free(lt);
}

// The majority class is the most frequent label of the training rows; ties go to the smaller one.
TEST(test_majority) {
    SrMatrix train = {.n = 5, .label = (int64_t[]){1, -1, 1, 0, -1}},
             test = {.n = 4, .label = (int64_t[]){0, 0, 1, -1}}, none = {.n = 0};
    CHECK_NEAR(sr_knn_majority(&train, &test), 100.0 / 3, 1e-9);
    train.label = (int64_t[]){2, 0, 2, 0, -1};
    CHECK_NEAR(sr_knn_majority(&train, &test), 200.0 / 3, 1e-9);
    CHECK_NEAR(sr_knn_majority(&none, &test), 0, 0);
    CHECK_NEAR(sr_knn_majority(&train, &none), 0, 0);
}

// Training rows of NaN do not vote, and test rows of NaN are counted as misses.
TEST(test_not_numbers) {
    float x[3 * 1] = {NAN, 2, 1}, t[2] = {1, NAN};
    int64_t lx[3] = {0, 1, 2}, lt[2] = {1, 0}, ranked[2 * SR_KNN_TOP];
    SrMatrix train = {.n = 3, .d = 1, .x = x, .label = lx},
             test = {.n = 2, .d = 1, .x = t, .label = lt};
    SrKnnResult result;
    for (int k = 1; k <= 3; k++) { // for k = 1 the row of NaN must not keep others out
        CHECK_OK(sr_knn(&(SrKnnOptions){.sigma = 0.1}, &train, &test, &k, 1, &result, ranked));
        CHECK_INT(ranked[0], 1);
        CHECK_INT(ranked[1], k > 1 ? 2 : 0);
        CHECK_INT(ranked[SR_KNN_TOP], -1);
        CHECK_NEAR(result.top1, 50, 0);
        CHECK_NEAR(result.top5, 50, 0);
    }
}

// Class 0 has longer rows: without normalisation they win every vote, with it each class wins its
// own.
TEST(test_lengths) {
    enum { N = 40, D = 2 };
    float x[N * D], t[N * D];
    int64_t lx[N], lt[N];
    for (int i = 0; i < N; i++) {
        bool second = i % 2;
        float length = second ? 1 : 10;
        lx[i] = lt[i] = second;
        x[i * D] = length * (second ? 0.8f : 1);
        x[i * D + 1] = length * (second ? 0.6f : 0);
        memcpy(t + i * D, x + i * D, sizeof *t * D);
    }
    SrMatrix train = {.n = N, .d = D, .x = x, .label = lx},
             test = {.n = N, .d = D, .x = t, .label = lt};
    const int k = 5;
    SrKnnResult result;
    CHECK_OK(sr_knn(&(SrKnnOptions){.sigma = 0.1}, &train, &test, &k, 1, &result, NULL));
    CHECK_NEAR(result.top1, 50, 0);
    CHECK_NEAR(result.length_ratio, 10, 1e-5);
    x[0] = x[1] = 0; // a row of zeros and a row of NaN do not change the ratio
    x[D] = NAN;
    double ratio;
    CHECK_OK(sr_matrix_length_ratio(&train, &ratio));
    CHECK_NEAR(ratio, 10, 1e-5);
    train.n = 11;
    CHECK_OK(sr_matrix_length_ratio(&train, &ratio)); // too few rows for a ratio
    CHECK_NEAR(ratio, 1, 0);
    memcpy(x, t, sizeof x);
    train.n = N;
    SrKnnOptions normalised = {.sigma = 0.1, .l2_norm = true};
    CHECK_OK(sr_knn(&normalised, &train, &test, &k, 1, &result, NULL));
    CHECK_NEAR(result.top1, 100, 0);
    CHECK_NEAR(result.length_ratio, 1, 0);
}

// A matrix whose rows were reduced is still unmapped entirely.
TEST(test_fewer_rows) {
    SrMatrix f;
    int64_t before = sr_mem_bytes();
    CHECK_OK(sr_matrix_init(&f, 3000, 4));
    for (int i = 0; i < 3000; i++)
        f.x[4 * i] = (float)(f.label[i] = i);
    int8_t keep[3000] = {[7] = 1, [2999] = 1};
    sr_matrix_keep(&f, keep);
    CHECK_INT(f.n, 2);
    CHECK(f.label[0] == 7 && f.label[1] == 2999 && f.x[4] == 2999);
    sr_matrix_deinit(&f);
    CHECK_INT(sr_mem_bytes(), before);
}

SR_TESTS(knn, unit(test_against_definition), unit(test_ties_and_bounds),
         unit(test_large_similarities), unit(test_threads), unit(test_majority),
         unit(test_not_numbers), unit(test_lengths), unit(test_fewer_rows))
