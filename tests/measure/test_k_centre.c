// Tests k-centre against NumPy's numbers: prefixes, rows at hand, rows that may not be chosen.
#include "base/mem.h"
#include "measure/clusters/k_centre.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"
#include "tests/measure/folder_golden.h"
#include "tests/measure/folder_rows.h"

TEST(test_against_numpy) {
    SrMatrix f;
    int64_t chosen[12], fewer[7];
    const int64_t have[2] = {3, 77};
    float radius[12];
    folder_rows(&f);
    SrKCentreOptions o = {.first = -1};
    CHECK_OK(sr_k_centre(&o, ROWS(f), 12, chosen, radius));
    for (int i = 0; i < 12; i++)
        CHECK_INT(chosen[i], golden_centre[i]);
    CHECK(isinf(radius[0]));
    for (int i = 2; i < 12; i++)
        CHECK(radius[i] <= radius[i - 1] && radius[i] > 0);
    CHECK_OK(sr_k_centre(&o, ROWS(f), 7, fewer, NULL)); // a prefix is the shorter choice
    CHECK(memcmp(fewer, chosen, sizeof fewer) == 0);
    o = (SrKCentreOptions){.have = have, .n_have = 2, .first = -1};
    CHECK_OK(sr_k_centre(&o, ROWS(f), 12, chosen, radius));
    for (int i = 0; i < 12; i++)
        CHECK_INT(chosen[i], golden_centre_have[i]);
    CHECK(isfinite(radius[0]));
    sr_matrix_deinit(&f);
}

TEST(test_allowed) {
    float x[5] = {0, 1, 50, 99, NAN};
    int64_t label[5] = {0}, chosen[5];
    const int8_t allowed[5] = {1, 1, 1, 0, 1};
    SrMatrix f = {.n = 5, .d = 1, .x = x, .label = label};
    SrKCentreOptions o = {.allowed = allowed, .first = 0};
    CHECK_OK(sr_k_centre(&o, ROWS(f), 3, chosen, NULL));
    CHECK_INT(chosen[0], 0);
    CHECK_INT(chosen[1], 2); // 99 is farther, but not allowed
    CHECK_INT(chosen[2], 1);
    CHECK_FAILS(sr_k_centre(&o, ROWS(f), 4, chosen, NULL), SR_ERR_CONFIG, "only 3 are free");
}

TEST(test_memory) {
    SrMatrix f;
    int64_t chosen[3];
    SrKCentreOptions o = {.first = -1};
    folder_rows(&f);
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 5; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_k_centre(&o, ROWS(f), 3, chosen, NULL), SR_ERR_MEMORY, "choice");
    }
    sr_mem_fail_at(0);
    CHECK_INT(sr_mem_live(), live);
    sr_matrix_deinit(&f);
}

SR_TESTS(k_centre, unit(test_against_numpy), unit(test_allowed), unit(test_memory))
