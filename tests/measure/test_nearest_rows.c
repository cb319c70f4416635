// Tests nearest rows against scikit-learn's numbers, exact copies, threads, labels and bounds.
#include "base/mem.h"
#include "base/parallel.h"
#include "measure/neighbours/nearest_rows.h"
#include "measure/probes/label_noise.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"
#include "tests/measure/folder_golden.h"
#include "tests/measure/folder_rows.h"

TEST(test_against_sklearn) {
    SrMatrix f;
    int64_t row[FOLDER_N * 3];
    float distance[FOLDER_N * 3], same[FOLDER_N], other[FOLDER_N], ratio[FOLDER_N];
    folder_rows(&f);
    sr_matrix_normalize(&f, 0);
    CHECK_OK(sr_nearest_rows(ROWS(f), 3, row, distance));
    CHECK_OK(sr_nearest_by_class(ROWS(f), 1, same, other));
    sr_label_ratio(same, other, FOLDER_N, true, ratio);
    for (int i = 0; i < FOLDER_N; i++) {
        CHECK_INT(row[i * 3 + 2], golden_third_row[i]);
        CHECK_NEAR((double)distance[i * 3 + 2], golden_third_distance[i], 1e-6);
        CHECK_NEAR((double)ratio[i], golden_ratio[i], 1e-4);
    }
    CHECK_FAILS(sr_nearest_rows(ROWS(f), FOLDER_N, row, distance), SR_ERR_CONFIG, "below that");
    sr_matrix_deinit(&f);
}

// Four equal rows: each finds the others, never itself, and labels do not matter.
TEST(test_copies) {
    float x[5 * 2] = {1, 0, 1, 0, 1, 0, 1, 0, 0, 1}, distance[5];
    int64_t label[5] = {-1, 0, 1, -1, 0}, row[5];
    SrMatrix f = {.n = 5, .d = 2, .x = x, .label = label};
    CHECK_OK(sr_nearest_rows(ROWS(f), 1, row, distance));
    for (int i = 0; i < 5; i++) {
        CHECK(row[i] != i);
        CHECK_NEAR((double)distance[i], i < 4 ? 0 : 1, 1e-6);
    }
    x[0] = NAN; // finds nothing and is found by nobody
    CHECK_OK(sr_nearest_rows(ROWS(f), 1, row, distance));
    CHECK_INT(row[0], -1);
    CHECK(isnan(distance[0]));
    for (int i = 1; i < 5; i++)
        CHECK(row[i] > 0);
}

TEST(test_classes) {
    float x[4 * 2] = {1, 0, 0, 1, 1, 0, 1, 0}, same[4], other[4], ratio[4];
    int64_t label[4] = {0, 0, 1, -1};
    SrMatrix f = {.n = 4, .d = 2, .x = x, .label = label};
    CHECK_OK(sr_nearest_by_class(ROWS(f), 1, same, other));
    CHECK_NEAR((double)same[0], 1, 1e-6);
    CHECK_NEAR((double)other[0], 0, 1e-6);
    CHECK(isnan(same[2])); // the only row of its class
    CHECK_NEAR((double)other[2], 0, 1e-6);
    CHECK(isnan(same[3]) && isnan(other[3])); // no label
    sr_label_ratio(same, other, 4, true, ratio);
    CHECK_NEAR((double)ratio[0], 0, 1e-6);
    CHECK(isnan(ratio[2]) && isnan(ratio[3]));
    const float two[1] = {2}, one[1] = {1};
    sr_label_ratio(two, one, 1, false, ratio);
    CHECK_NEAR((double)ratio[0], 0.2, 1e-6);
    const float zero[1] = {0};
    sr_label_ratio(zero, zero, 1, false, ratio);
    CHECK_NEAR((double)ratio[0], 0.5, 0);
}

// Means of three distances against sorted ones in double precision.  The last class has two rows.
TEST(test_means) {
    enum { K = 3 };
    SrMatrix f;
    float same[FOLDER_N], other[FOLDER_N];
    double near[2][FOLDER_N];
    folder_rows(&f);
    sr_matrix_normalize(&f, 0);
    f.label[7] = f.label[90] = FOLDER_CLASSES;
    f.label[3] = -1;
    CHECK_OK(sr_nearest_by_class(ROWS(f), K, same, other));
    for (int i = 0; i < FOLDER_N; i++) {
        int n[2] = {0, 0};
        for (int j = 0; j < FOLDER_N; j++) {
            double product = 0;
            for (int c = 0; c < f.d; c++)
                product += (double)f.x[i * f.d + c] * (double)f.x[j * f.d + c];
            int kind = f.label[i] != f.label[j];
            if (i == j || f.label[i] < 0 || f.label[j] < 0)
                continue;
            int at = n[kind]++;
            for (; at > 0 && 1 - product < near[kind][at - 1]; at--)
                near[kind][at] = near[kind][at - 1];
            near[kind][at] = 1 - product;
        }
        int k = f.label[i] == FOLDER_CLASSES ? 1 : K; // one other row of the class: one of both
        double mean[2] = {0, 0};
        for (int j = 0; j < k && f.label[i] >= 0; j++)
            for (int kind = 0; kind < 2; kind++)
                mean[kind] += near[kind][j] / k;
        CHECK(isnan(same[i]) == (f.label[i] < 0) && isnan(other[i]) == (f.label[i] < 0));
        if (f.label[i] >= 0) {
            CHECK_NEAR((double)same[i], mean[0], 1e-6);
            CHECK_NEAR((double)other[i], mean[1], 1e-6);
        }
    }
    sr_matrix_deinit(&f);
}

// Equal bits for one and several threads, over more than one block of queries.
TEST(test_threads) {
    enum { N = 1500, D = 5 };
    static float a[N * 2], b[N * 2], same[2][N], other[2][N];
    static int64_t row[N * 2];
    SrMatrix f;
    CHECK_OK(sr_matrix_init(&f, N, D));
    folder_draws(7, f.x, (int64_t)N * D);
    sr_matrix_normalize(&f, 0);
    for (int i = 0; i < N; i++)
        f.label[i] = i % 4;
    int before = sr_parallel_threads();
    CHECK_OK(sr_nearest_rows(ROWS(f), 2, row, a));
    CHECK_OK(sr_nearest_by_class(ROWS(f), 3, same[0], other[0]));
    sr_parallel_set_threads(before > 1 ? 1 : 3);
    CHECK_OK(sr_nearest_rows(ROWS(f), 2, row, b));
    CHECK_OK(sr_nearest_by_class(ROWS(f), 3, same[1], other[1]));
    sr_parallel_set_threads(before);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK(memcmp(same[0], same[1], sizeof same[0]) == 0);
    CHECK(memcmp(other[0], other[1], sizeof other[0]) == 0);
    sr_matrix_deinit(&f);
}

TEST(test_memory) {
    SrMatrix f;
    int64_t row[FOLDER_N];
    float distance[FOLDER_N], other[FOLDER_N];
    folder_rows(&f);
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 3; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_nearest_rows(ROWS(f), 1, row, distance), SR_ERR_MEMORY, "memory");
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_nearest_by_class(ROWS(f), 1, distance, other), SR_ERR_MEMORY, "memory");
        sr_mem_fail_at(0);
        CHECK_INT(sr_mem_live(), live);
    }
    sr_matrix_deinit(&f);
}

SR_TESTS(nearest_rows, unit(test_against_sklearn), unit(test_copies), unit(test_classes),
         unit(test_means), unit(test_threads), unit(test_memory))
