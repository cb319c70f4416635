// Tests typical rows: dense rows first, one of each cluster, prefixes, rows at hand, outliers last.
#include "base/mem.h"
#include "measure/clusters/typicality.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

enum { N = 300, D = 8, CLASSES = 3 };

// Four choices of three clear clusters: the first choices cover the clusters of k-means, and every
// choice is the most typical free row of its cluster.
TEST(test_covers_clusters) {
    SrMatrix f;
    int64_t chosen[3], more[6];
    float typical[N];
    bool seen[CLASSES] = {false};
    test_rows_planted(&f, N, D, CLASSES, 8, 3);
    sr_matrix_normalize(&f, 0);
    SrTypicalityOptions o = {.seed = 1};
    CHECK_OK(sr_typical_rows(&o, ROWS(f), CLASSES, chosen, typical));
    for (int i = 0; i < CLASSES; i++) {
        int64_t c = f.label[chosen[i]];
        CHECK(!seen[c]);
        seen[c] = true;
        for (int j = 0; j < N; j++)
            CHECK(f.label[j] != c || typical[j] <= typical[chosen[i]]);
    }
    // Clusters that hold a row already are asked last.
    o.have = chosen;
    o.n_have = 2;
    CHECK_OK(sr_typical_rows(&o, ROWS(f), 1, more, NULL));
    CHECK_INT(f.label[more[0]], f.label[chosen[2]]);
    CHECK_FAILS(sr_typical_rows(&o, ROWS(f), N - 1, more, NULL), SR_ERR_CONFIG, "free");
    sr_matrix_deinit(&f);
}

TEST(test_typicality) {
    float x[4 * 2] = {1, 0, 1, 0, 1, 0, 0, 1}, typical[4];
    int64_t label[4] = {0};
    SrMatrix f = {.n = 4, .d = 2, .x = x, .label = label};
    CHECK_OK(sr_typicality(ROWS(f), typical));
    CHECK_NEAR((double)typical[0], 3 / sqrt(2.0), 1e-5); // distances 0, 0 and sqrt(2)
    CHECK_NEAR((double)typical[3], 1 / sqrt(2.0), 1e-5);
    f.n = 1;
    CHECK_OK(sr_typicality(ROWS(f), typical));
    CHECK_NEAR((double)typical[0], 0, 0);
}

// All rows in some order, each once.
TEST(test_all_rows) {
    SrMatrix f;
    int64_t chosen[40];
    int8_t used[40] = {0};
    test_rows_planted(&f, 40, D, CLASSES, 2, 3);
    sr_matrix_normalize(&f, 0);
    SrTypicalityOptions o = {.seed = 1};
    CHECK_OK(sr_typical_rows(&o, ROWS(f), 40, chosen, NULL));
    for (int i = 0; i < 40; i++) {
        CHECK(!used[chosen[i]]);
        used[chosen[i]] = 1;
    }
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 30; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_typical_rows(&o, ROWS(f), 4, chosen, NULL), SR_ERR_MEMORY, "memory");
        sr_mem_fail_at(0);
        CHECK_INT(sr_mem_live(), live);
    }
    sr_matrix_deinit(&f);
}

SR_TESTS(typicality, unit(test_covers_clusters), unit(test_typicality), unit(test_all_rows))
