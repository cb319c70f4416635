// Tests planar maps of features: principal components of rows whose components are known,
// clusters that stay apart, and the same bits for any number of threads.
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "measure/planar.h"
#include "tests/check.h"

enum { N = 120, D = 40 };

// Makes three clouds, `between` apart. They are wide along the first column and half as wide
// along the second.
static void make_rows(SrMatrix *f, double between) {
    SrRng rng = sr_rng(3, SR_RNG_TEST, 0, 0, 0, 0);
    CHECK_OK(sr_matrix_init(f, N, D));
    for (int i = 0; i < N; i++) {
        f->label[i] = i % 3;
        for (int j = 0; j < D; j++)
            f->x[i * D + j] = (float)(0.1 * sr_rng_normal(&rng) + (j == i % 3 ? between : 0));
    }
}

static void test_pca_of_known_axes(void **state) {
    (void)state;
    SrMatrix f;
    float y[N * 3];
    double share;
    SrRng rng = sr_rng(4, SR_RNG_TEST, 0, 0, 0, 0);
    CHECK_OK(sr_matrix_init(&f, N, D));
    for (int i = 0; i < N; i++) {
        double a = 5 * sr_rng_normal(&rng), b = 2 * sr_rng_normal(&rng);
        f.x[i * D + 7] = (float)(3 + a);
        f.x[i * D + 1] = (float)(b - 1);
    }
    CHECK_OK(sr_pca(&f, 3, y, &share));
    CHECK_NEAR(share, 1, 1e-5);
    double mean[2] = {0, 0};
    for (int i = 0; i < N; i++) {
        mean[0] += (double)f.x[i * D + 7] / N;
        mean[1] += (double)f.x[i * D + 1] / N;
    }
    double along[2] = {0, 0}, length[2] = {0, 0};
    for (int i = 0; i < N; i++) {
        double a = (double)f.x[i * D + 7] - mean[0], b = (double)f.x[i * D + 1] - mean[1];
        along[0] += a * (double)y[3 * i];
        along[1] += b * (double)y[3 * i + 1];
        length[0] += a * a;
        length[1] += b * b;
        CHECK_NEAR(y[3 * i + 2], 0, 1e-3);
    }
    // In a sample the two axes are nearly, but not exactly, uncorrelated.
    CHECK(along[0] / length[0] > 0.98 && along[0] / length[0] < 1.02);
    CHECK(along[1] / length[1] > 0.9 && along[1] / length[1] < 1.1);
    sr_matrix_deinit(&f);
}

// Returns the share of points whose nearest point belongs to the same cloud.
static double purity(const float *y, const int64_t *label, int k) {
    int right = 0;
    for (int i = 0; i < N; i++) {
        int best = -1;
        double least = INFINITY;
        for (int j = 0; j < N; j++) {
            double a = (double)(y[k * i] - y[k * j]), b = (double)(y[k * i + 1] - y[k * j + 1]);
            if (j != i && a * a + b * b < least) {
                least = a * a + b * b;
                best = j;
            }
        }
        right += label[best] == label[i];
    }
    return (double)right / N;
}

static void test_tsne_keeps_clouds_apart(void **state) {
    (void)state;
    SrMatrix f;
    float one[N * 2], two[N * 2];
    int threads = sr_parallel_threads();
    make_rows(&f, 3);
    CHECK_OK(sr_tsne(&f, &SR_TSNE_DEFAULT, one));
    CHECK(purity(one, f.label, 2) == 1);
    sr_parallel_set_threads(2);
    CHECK_OK(sr_tsne(&f, &SR_TSNE_DEFAULT, two));
    sr_parallel_set_threads(threads);
    CHECK(memcmp(one, two, sizeof one) == 0);
    for (int i = 0; i < 2 * N; i++)
        CHECK(isfinite(one[i]));
    sr_matrix_deinit(&f);
    make_rows(&f, 0); // the rows have no clusters, and the map shows none
    CHECK_OK(sr_tsne(&f, &SR_TSNE_DEFAULT, one));
    CHECK(purity(one, f.label, 2) < 0.6);
    sr_matrix_deinit(&f);
}

static void test_few_or_equal_rows(void **state) {
    (void)state;
    for (int n = 1; n < 9; n++) {
        SrMatrix f;
        float y[18];
        CHECK_OK(sr_matrix_init(&f, n, 2));
        CHECK_OK(sr_tsne(&f, &SR_TSNE_DEFAULT, y));
        CHECK_OK(sr_pca(&f, 2, y, NULL));
        for (int i = 0; i < 2 * n; i++)
            CHECK(isfinite(y[i]));
        sr_matrix_deinit(&f);
    }
}

SR_TESTS(planar, unit(test_pca_of_known_axes), unit(test_tsne_keeps_clouds_apart),
         unit(test_few_or_equal_rows))
