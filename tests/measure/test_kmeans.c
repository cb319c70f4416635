// Tests k-means: finds planted clusters exactly, gives the same bits for any number of threads,
// and handles few and equal rows.
#include "base/mem.h"
#include "base/parallel.h"
#include "measure/clusters/kmeans.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

// Returns whether two labellings agree up to the names of the clusters: each has one label, and
// each label one cluster.
static bool same_partition(const int64_t *a, const int64_t *b, int64_t n, int k) {
    int64_t to[64], from[64];
    for (int c = 0; c < k; c++)
        to[c] = from[c] = -1;
    for (int64_t i = 0; i < n; i++) {
        to[a[i]] = to[a[i]] < 0 ? b[i] : to[a[i]];
        from[b[i]] = from[b[i]] < 0 ? a[i] : from[b[i]];
        if (to[a[i]] != b[i] || from[b[i]] != a[i])
            return false;
    }
    return true;
}

TEST(test_planted) {
    enum { N = 3000, D = 24, K = 12 };
    static int64_t label[N];
    for (int spherical = 0; spherical < 2; spherical++) {
        SrMatrix f;
        SrKmeans km;
        double purity;
        test_rows_planted(&f, N, D, K, 15, 2);
        if (spherical)
            sr_matrix_normalize(&f, 0);
        SrKmeansOptions o = {.k = K, .iterations = 50, .seed = 3, .spherical = spherical};
        CHECK_OK(sr_kmeans(&o, ROWS(f), &km));
        CHECK_OK(sr_kmeans_assign(&km, ROWS(f), label, NULL));
        CHECK(same_partition(label, f.label, N, K));
        CHECK(km.iterations < 50);
        CHECK_OK(sr_kmeans_purity(&f, label, K, &purity));
        CHECK_NEAR(purity, 100, 0);
        // Every centroid is the mean of its rows.
        double sum = 0, n = 0;
        for (int i = 0; i < N; i++) {
            sum += label[i] == 4 ? (double)f.x[i * D] : 0;
            n += label[i] == 4;
        }
        if (!spherical)
            CHECK_NEAR(km.centre[4 * D], sum / n, 1e-4);
        sr_kmeans_deinit(&km);
        sr_matrix_deinit(&f);
    }
}

TEST(test_threads_and_seeds) {
    enum { N = 2500, D = 40, K = 30 };
    static int64_t label[3][N];
    SrKmeans km[3];
    SrMatrix f;
    int before = sr_parallel_threads();
    test_rows_planted(&f, N, D, 10, 0.3, 2);
    for (int i = 0; i < 3; i++) {
        SrKmeansOptions o = {.k = K, .iterations = 6, .seed = i == 2};
        sr_parallel_set_threads(i + 1);
        CHECK_OK(sr_kmeans(&o, ROWS(f), &km[i]));
        CHECK_OK(sr_kmeans_assign(&km[i], ROWS(f), label[i], NULL));
    }
    sr_parallel_set_threads(before);
    CHECK(memcmp(km[0].centre, km[1].centre, sizeof(float) * K * D) == 0);
    CHECK(memcmp(label[0], label[1], sizeof label[0]) == 0);
    CHECK(memcmp(label[0], label[2], sizeof label[0]) != 0);
    for (int i = 0; i < 3; i++)
        sr_kmeans_deinit(&km[i]);
    sr_matrix_deinit(&f);
}

TEST(test_nearest) {
    float x[4 * 2] = {0, 0, 3, 0, 1.5f, 0, 9, 0}, centre[2 * 2] = {0, 0, 3, 0}, distance[4];
    int64_t label[4];
    SrMatrix f = {.n = 4, .d = 2, .x = x};
    SrKmeans km = {.k = 2, .d = 2, .centre = centre};
    CHECK_OK(sr_kmeans_assign(&km, ROWS(f), label, distance));
    CHECK(label[0] == 0 && label[1] == 1 && label[3] == 1);
    CHECK_INT(label[2], 0); // ties go to the first
    CHECK_NEAR(distance[2], 2.25, 1e-6);
    CHECK_NEAR(distance[3], 36, 1e-5);
    f.d = 1;
    CHECK_FAILS(sr_kmeans_assign(&km, ROWS(f), label, distance), SR_ERR_CONFIG,
                "the rows have 1 numbers");
}

// Equal rows leave clusters empty, which are then filled; no row is lost.
TEST(test_few_rows) {
    float x[6 * 1] = {1, 1, 1, 1, 5, 5};
    int64_t label[6];
    SrMatrix f = {.n = 6, .d = 1, .x = x};
    SrKmeans km;
    SrKmeansOptions o = {.k = 4, .iterations = 10};
    CHECK_OK(sr_kmeans(&o, ROWS(f), &km));
    CHECK_OK(sr_kmeans_assign(&km, ROWS(f), label, NULL));
    CHECK(label[0] == label[3] && label[4] == label[5] && label[0] != label[4]);
    for (int c = 0; c < 4; c++)
        CHECK(km.centre[c] >= 1 && km.centre[c] <= 5);
    sr_kmeans_deinit(&km);
    o.k = 7;
    CHECK_FAILS(sr_kmeans(&o, ROWS(f), &km), SR_ERR_CONFIG, "CLUSTERFIT.NUM_CLUSTERS");
}

SR_TESTS(kmeans, unit(test_planted), unit(test_threads_and_seeds), unit(test_nearest),
         unit(test_few_rows))
