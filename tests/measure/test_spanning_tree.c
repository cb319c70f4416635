// Tests the spanning tree and leaf distances against SciPy's numbers, small groups, threads, NaN.
#include "base/mem.h"
#include "base/parallel.h"
#include "measure/clusters/spanning_tree.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"
#include "tests/measure/folder_golden.h"
#include "tests/measure/folder_rows.h"

TEST(test_against_scipy) {
    SrMatrix f;
    SrTreeEdge edge[FOLDER_N - 1];
    float leaf[FOLDER_N];
    double length = 0;
    folder_rows(&f);
    CHECK_OK(sr_spanning_tree(ROWS(f), edge));
    CHECK_OK(sr_leaf_distances(edge, FOLDER_N, 5, leaf));
    for (int i = 0; i < FOLDER_N - 1; i++) {
        CHECK(edge[i].from < edge[i].to);
        CHECK(i == 0 || edge[i - 1].length <= edge[i].length);
        length += (double)edge[i].length;
    }
    CHECK_NEAR(length, golden_tree_length[0], 1e-4);
    for (int i = 0; i < FOLDER_N; i++)
        CHECK_NEAR((double)leaf[i], golden_leaf[i], 1e-5);
    sr_matrix_deinit(&f);
}

// Two rows lie together far from the rest: their nearest row is near, their leaf distance is not.
TEST(test_group) {
    float x[8] = {0, 1, 2, 3, 4, 5, 100, 101}, leaf[8];
    int64_t label[8] = {0};
    SrTreeEdge edge[7];
    SrMatrix f = {.n = 8, .d = 1, .x = x, .label = label};
    CHECK_OK(sr_spanning_tree(ROWS(f), edge));
    CHECK_OK(sr_leaf_distances(edge, 8, 2, leaf));
    CHECK_NEAR((double)leaf[6], 95, 1e-4);
    CHECK_NEAR((double)leaf[7], 95, 1e-4);
    CHECK_NEAR((double)leaf[0], 1, 1e-4);
    CHECK_OK(sr_leaf_distances(edge, 8, 1, leaf)); // a group of two is no longer a lone row
    CHECK_NEAR((double)leaf[7], 1, 1e-4);
}

// Edges of one length are in the order of their rows, whatever the order in which they were found.
TEST(test_ties) {
    static const int64_t wanted[4][2] = {{0, 2}, {0, 3}, {1, 2}, {3, 4}};
    float x[5] = {2, 0, 1, 3, 4};
    int64_t label[5] = {0};
    SrTreeEdge edge[4];
    SrMatrix f = {.n = 5, .d = 1, .x = x, .label = label};
    CHECK_OK(sr_spanning_tree(ROWS(f), edge));
    for (int i = 0; i < 4; i++) {
        CHECK_INT(edge[i].from, wanted[i][0]);
        CHECK_INT(edge[i].to, wanted[i][1]);
    }
}

TEST(test_threads_and_nan) {
    enum { N = 1300, D = 9 };
    static SrTreeEdge a[N - 1], b[N - 1];
    SrMatrix f;
    CHECK_OK(sr_matrix_init(&f, N, D));
    folder_draws(3, f.x, (int64_t)N * D);
    int before = sr_parallel_threads();
    CHECK_OK(sr_spanning_tree(ROWS(f), a));
    sr_parallel_set_threads(before > 1 ? 1 : 3);
    CHECK_OK(sr_spanning_tree(ROWS(f), b));
    sr_parallel_set_threads(before);
    for (int i = 0; i < N - 1; i++) {
        CHECK_INT(a[i].from, b[i].from);
        CHECK_INT(a[i].to, b[i].to);
        CHECK(a[i].length == b[i].length);
    }
    f.x[5 * D] = NAN; // joins last
    CHECK_OK(sr_spanning_tree(ROWS(f), a));
    CHECK(a[N - 2].from == 5 || a[N - 2].to == 5);
    CHECK(a[N - 2].length > 1e18f && a[N - 3].length < 10);
    sr_matrix_deinit(&f);
}

TEST(test_memory) {
    SrMatrix f;
    SrTreeEdge edge[FOLDER_N - 1];
    float leaf[FOLDER_N];
    folder_rows(&f);
    CHECK_OK(sr_spanning_tree(ROWS(f), edge));
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 4; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_spanning_tree(ROWS(f), edge), SR_ERR_MEMORY, "tree");
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_leaf_distances(edge, FOLDER_N, 1, leaf), SR_ERR_MEMORY, "groups");
    }
    sr_mem_fail_at(0);
    CHECK_INT(sr_mem_live(), live);
    sr_matrix_deinit(&f);
}

SR_TESTS(spanning_tree, unit(test_against_scipy), unit(test_group), unit(test_ties),
         unit(test_threads_and_nan), unit(test_memory))
