// Tests hierarchical k-means and balanced samples: shares of small and large groups, errors.
#include "base/mem.h"
#include "measure/clusters/kmeans_tree.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

// A tree by hand: clusters of 6, 2 and 4 rows; the first two lie below one cluster.
TEST(test_shares) {
    int64_t low[12] = {0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2}, high[3] = {0, 0, 1}, chosen[12];
    SrKmeansTree t = {.levels = 2, .n = 12, .k = {3, 2}, .label = {low, high}};
    int count[3] = {0};
    CHECK_OK(sr_balanced_sample(&t, 6, 1, chosen));
    for (int i = 0; i < 6; i++) {
        count[low[chosen[i]]]++;
        CHECK(i == 0 || chosen[i] > chosen[i - 1]);
    }
    // Half for each high cluster; in the first, the odd row goes to the first low cluster.
    CHECK_INT(count[0], 2);
    CHECK_INT(count[1], 1);
    CHECK_INT(count[2], 3);
    count[0] = count[1] = count[2] = 0;
    CHECK_OK(sr_balanced_sample(&t, 11, 1, chosen));
    for (int i = 0; i < 11; i++)
        count[low[chosen[i]]]++;
    CHECK_INT(count[2], 4); // all that there is; the other cluster gives the rest
    CHECK_INT(count[1], 2);
    CHECK_INT(count[0], 5);
    CHECK_OK(sr_balanced_sample(&t, 12, 1, chosen));
    for (int i = 0; i < 12; i++)
        CHECK_INT(chosen[i], i);
    CHECK_FAILS(sr_balanced_sample(&t, 13, 1, chosen), SR_ERR_CONFIG, "expected 1 to 12");
    CHECK_FAILS(sr_balanced_sample(&t, 0, 1, chosen), SR_ERR_CONFIG, "expected 1 to 12");
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 6; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_balanced_sample(&t, 6, 1, chosen), SR_ERR_MEMORY, "sample");
    }
    sr_mem_fail_at(0);
    CHECK_INT(sr_mem_live(), live);
}

// One class has ten times the rows of the others; a balanced sample evens that out.
TEST(test_evens_out) {
    SrMatrix f;
    SrKmeansTree t;
    const int k[2] = {30, 3}, wrong[2] = {3, 30};
    int64_t chosen[90], row[260], n = 0;
    int count[3] = {0};
    SrMatrix all;
    test_rows_planted(&all, 600, 6, 3, 12, 2);
    for (int64_t i = 0; i < 600; i++)
        if (i % 3 == 0 || i < 90)
            row[n++] = i;
    CHECK_OK(sr_matrix_take(&all, row, n, &f)); // 200 rows of class 0, 30 of each other
    CHECK_OK(sr_kmeans_tree(ROWS(f), k, 2, 5, &t));
    CHECK_INT(t.levels, 2);
    CHECK_OK(sr_balanced_sample(&t, 60, 1, chosen));
    for (int i = 0; i < 60; i++)
        count[f.label[chosen[i]]]++;
    for (int c = 0; c < 3; c++)
        CHECK(count[c] >= 15 && count[c] <= 30);
    sr_kmeans_tree_deinit(&t);
    CHECK_FAILS(sr_kmeans_tree(ROWS(f), wrong, 2, 5, &t), SR_ERR_CONFIG, "fall from level");
    sr_kmeans_tree_deinit(&t);
    CHECK_FAILS(sr_kmeans_tree(ROWS(f), k, 5, 5, &t), SR_ERR_CONFIG, "levels");
    sr_kmeans_tree_deinit(&t);
    sr_matrix_deinit(&f);
    sr_matrix_deinit(&all);
}

SR_TESTS(kmeans_tree, unit(test_shares), unit(test_evens_out))
