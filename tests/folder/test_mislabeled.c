// Tests the search for wrong labels: planted ones are found, first in the ranking, with the right
// suggestion.
#include "folder/mislabeled.h"

#include "base/mem.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

enum { N = 600, D = 12, CLASSES = 4, EVERY = 20, WRONG = N / EVERY };

TEST(test_planted) {
    SrMatrix f;
    SrMislabelReport r;
    SrMislabelOptions o = {.share = 0.1};
    int first = 0, found = 0, suggested = 0;
    test_rows_planted(&f, N, D, CLASSES, 2, 5);
    sr_matrix_normalize(&f, 0);
    for (int i = 0; i < N; i += EVERY)
        f.label[i] = (f.label[i] + 1) % CLASSES;
    f.label[1] = -1;
    const SrRowView rows = sr_row_view(&f);
    CHECK_OK(sr_mislabeled(&o, &rows, &r));
    CHECK_INT(r.n, N - 1);
    for (int i = 0; i < r.n; i++) {
        bool wrong = r.v[i].row % EVERY == 0;
        first += i < WRONG && wrong;
        found += wrong && r.v[i].found;
        suggested += wrong && r.v[i].suggested == r.v[i].row % CLASSES;
        CHECK(i == 0 || r.v[i].doubt <= r.v[i - 1].doubt);
        CHECK(r.v[i].row != 1);
        CHECK_NEAR(r.v[i].doubt, 1 - (2 * r.v[i].given_probability + (double)r.v[i].ratio) / 3,
                   1e-12);
    }
    CHECK(first >= WRONG - 3);
    CHECK(found >= WRONG * 2 / 3);
    CHECK(suggested >= WRONG - 3);
    CHECK(r.found < 2 * WRONG);
    CHECK(r.noise.noise > 0.03 && r.noise.noise < 0.09); // 5 % were moved
    sr_mislabeled_deinit(&r);
    sr_matrix_deinit(&f);
}

TEST(test_refused) {
    SrMatrix f;
    SrMislabelReport r;
    SrMislabelOptions o = {.share = 0.1};
    test_rows_planted(&f, 40, D, 2, 2, 5);
    const SrRowView rows = sr_row_view(&f);
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 10; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_mislabeled(&o, &rows, &r), SR_ERR_MEMORY, "memory");
        sr_mem_fail_at(0);
        sr_mislabeled_deinit(&r);
        CHECK_INT(sr_mem_live(), live);
    }
    for (int i = 0; i < 40; i++)
        f.label[i] = 0;
    CHECK_FAILS(sr_mislabeled(&o, &rows, &r), SR_ERR_CONFIG, "folder of its own");
    sr_mislabeled_deinit(&r);
    sr_matrix_deinit(&f);
}

SR_TESTS(mislabeled, unit(test_planted), unit(test_refused))
