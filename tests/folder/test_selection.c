// Tests the choice of images to label: each method, rows at hand, no outliers where both work.
#include "folder/selection.h"

#include "base/mem.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

enum { N = 200, D = 8, K = 12 };

static bool contains(const int64_t *list, int n, int64_t row) {
    for (int i = 0; i < n; i++)
        if (list[i] == row)
            return true;
    return false;
}

TEST(test_methods) {
    SrMatrix f;
    int64_t chosen[K], more[K];
    test_rows_planted(&f, N, D, 3, 4, 2);
    for (int j = 0; j < D; j++)
        f.x[9 * D + j] = j ? 0 : -50.0f; // an outlier
    sr_matrix_normalize(&f, 0);
    for (int m = SR_SELECT_TYPICAL; m <= SR_SELECT_BOTH; m++) {
        SrSelectOptions o = {.method = (SrSelectMethod)m};
        CHECK_OK(sr_select_rows(&o, ROWS(f), K, chosen));
        CHECK_INT(contains(chosen, K, 9), m == SR_SELECT_CENTRES);
        for (int i = 0; i < K; i++)
            CHECK(!contains(chosen, i, chosen[i]));
        o.have = chosen;
        o.n_have = 4;
        CHECK_OK(sr_select_rows(&o, ROWS(f), K - 4, more));
        for (int i = 0; i < K - 4; i++)
            CHECK(!contains(chosen, 4, more[i]));
        CHECK_FAILS(sr_select_rows(&o, ROWS(f), N - 3, more), SR_ERR_CONFIG, "expected 1 to 196");
        CHECK_FAILS(sr_select_rows(&o, ROWS(f), 0, more), SR_ERR_CONFIG, "expected 1 to 196");
    }
    // More than the typical half is wanted: others are allowed too.
    SrSelectOptions o = {.method = SR_SELECT_BOTH};
    static int64_t all[N];
    CHECK_OK(sr_select_rows(&o, ROWS(f), N, all));
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 6; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_select_rows(&o, ROWS(f), K, chosen), SR_ERR_MEMORY, "memory");
        sr_mem_fail_at(0);
        CHECK_INT(sr_mem_live(), live);
    }
    sr_matrix_deinit(&f);
}

SR_TESTS(selection, unit(test_methods))
