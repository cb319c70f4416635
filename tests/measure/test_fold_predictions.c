// Tests out-of-sample predictions: planted classes, wrong labels, rows never seen, threads.
#include "base/mem.h"
#include "base/parallel.h"
#include "measure/probes/fold_predictions.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

enum { N = 600, D = 8, CLASSES = 3 };

TEST(test_wrong_labels) {
    static float p[N * CLASSES], again[N * CLASSES];
    SrMatrix f;
    int hits = 0, found = 0;
    test_rows_planted(&f, N, D, CLASSES, 2, 4);
    const SrRowView rows = sr_row_view(&f);
    for (int i = 0; i < N; i += 20)
        f.label[i] = (f.label[i] + 1) % CLASSES;
    f.label[7] = -1;
    CHECK_OK(sr_fold_predictions(&rows, CLASSES, 0.01, 0, p));
    for (int i = 0; i < N; i++) {
        const float *q = p + i * CLASSES;
        double sum = (double)q[0] + (double)q[1] + (double)q[2];
        CHECK_NEAR(sum, i == 7 ? 0 : 1, 1e-5);
        hits += i != 7 && q[i % CLASSES] > 0.5f;
        found += i % 20 == 0 && q[f.label[i]] < 0.5f;
    }
    CHECK(hits > N * 9 / 10);
    CHECK(found >= 27); // of 30 labels that were moved
    int before = sr_parallel_threads();
    sr_parallel_set_threads(before > 1 ? 1 : 2);
    CHECK_OK(sr_fold_predictions(&rows, CLASSES, 0.01, 0, again));
    sr_parallel_set_threads(before);
    CHECK(memcmp(p, again, sizeof p) == 0);
    sr_matrix_deinit(&f);
}

// Labels of pure chance are predicted no better than chance: no probe saw the row that it judges.
TEST(test_out_of_sample) {
    static float p[60 * 2];
    SrMatrix f, wide;
    int hits = 0;
    test_rows_planted(&f, 60, 40, 1, 0, 9);
    CHECK_OK(sr_matrix_init(&wide, 60, 40));
    memcpy(wide.x, f.x, 60 * 40 * sizeof *f.x);
    for (int i = 0; i < 60; i++)
        wide.label[i] = (i * 7 / 3) % 2;
    const SrRowView rows = sr_row_view(&wide);
    CHECK_OK(sr_fold_predictions(&rows, 2, 0, 0, p)); // chooses the penalty too
    for (int i = 0; i < 60; i++)
        hits += p[i * 2 + wide.label[i]] > 0.5f;
    CHECK(hits < 45); // a probe that had seen its rows would fit all 60 of 40 numbers
    sr_matrix_deinit(&wide);
    sr_matrix_deinit(&f);
}

TEST(test_few_rows) {
    float p[9 * 2];
    SrMatrix f;
    test_rows_planted(&f, 9, 2, 2, 1, 1); // five rows of class 0, four of class 1
    const SrRowView rows = sr_row_view(&f);
    CHECK_FAILS(sr_fold_predictions(&rows, 2, 1, 0, p), SR_ERR_CONFIG, "at least two classes");
    sr_mem_fail_at(1);
    CHECK_FAILS(sr_fold_predictions(&rows, 2, 1, 0, p), SR_ERR_MEMORY, "");
    sr_mem_fail_at(0);
    sr_matrix_deinit(&f);
}

SR_TESTS(fold_predictions, unit(test_wrong_labels), unit(test_out_of_sample), unit(test_few_rows))
