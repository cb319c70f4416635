// Tests outliers: planted strangers, small groups, classes that differ, rows without a direction.
#include "folder/outliers.h"

#include <string.h>

#include "base/mem.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

enum { N = 400, D = 16, CLASSES = 4 };

// Rows around four centres; row `at` and its neighbours point elsewhere.
static void plant(SrMatrix *f, int at, int n) {
    test_rows_planted(f, N, D, CLASSES, 3, 7);
    for (int i = at; i < at + n; i++)
        for (int j = 0; j < D; j++)
            f->x[i * D + j] = (j == 3 ? -30.0f : 0.5f * f->x[i * D + j]);
    sr_matrix_normalize(f, 0);
}

TEST(test_planted) {
    SrMatrix f;
    SrOutlierReport r;
    SrOutlierOptions o = {.share = 0.05};
    plant(&f, 100, 1);
    CHECK_OK(sr_outliers(&o, ROWS(f), &r));
    CHECK_INT(r.n, N);
    CHECK_INT(r.v[0].row, 100);
    CHECK(r.v[0].found && r.v[0].distance > 2 * r.v[20].distance);
    CHECK(r.found >= 1 && r.found < 20);
    sr_outliers_deinit(&r);
    o.no_tree = true;
    CHECK_OK(sr_outliers(&o, ROWS(f), &r));
    CHECK(isnan(r.v[0].leaf));
    sr_outliers_deinit(&r);
    sr_matrix_deinit(&f);
}

// Four strangers are near each other, so that their nearest rows are near; the tree finds them.
TEST(test_group) {
    SrMatrix f;
    SrOutlierReport r;
    SrOutlierOptions o = {.share = 0.05};
    int found = 0;
    plant(&f, 100, 4);
    CHECK_OK(sr_outliers(&o, ROWS(f), &r));
    for (int i = 0; i < N; i++)
        if (r.v[i].row >= 100 && r.v[i].row < 104) {
            found += r.v[i].found;
            CHECK(r.v[i].leaf > 0.3f);
        }
    CHECK_INT(found, 4);
    sr_outliers_deinit(&r);
    sr_matrix_deinit(&f);
}

// Returns the distance of a row to the nearest row of another class.
static double to_others(const SrMatrix *f, int64_t row) {
    double nearest = INFINITY;
    for (int64_t i = 0; i < N; i++) {
        double cosine = 0;
        for (int j = 0; f->label[i] >= 0 && j < D; j++)
            cosine += (double)f->x[row * D + j] * (double)f->x[i * D + j];
        if (f->label[i] >= 0 && f->label[i] != f->label[row])
            nearest = fmin(nearest, 1 - cosine);
    }
    return nearest;
}

// Checks that half of a class lies nearer to the other classes than its distance, and half farther.
static void check_median(const SrMatrix *f, const SrOddClass *c) {
    int nearer = 0, farther = 0, rows = 0;
    for (int64_t i = 0; i < N; i++) {
        double distance = f->label[i] == c->label ? to_others(f, i) : NAN;
        rows += f->label[i] == c->label;
        nearer += distance < c->distance - 1e-5;
        farther += distance > c->distance + 1e-5;
    }
    CHECK_INT(rows, c->images);
    CHECK(nearer <= rows / 2 && farther <= rows / 2);
}

TEST(test_classes) {
    SrMatrix f;
    SrOutlierReport r;
    SrOutlierOptions o = {.share = 0.1, .per_class = true};
    test_rows_planted(&f, N, D, 1, 3, 7);
    for (int64_t i = 0; i < N; i++)
        f.label[i] = i % 8;
    for (int64_t i = 0; i < N; i++)
        for (int j = 0; f.label[i] == 5 && j < D; j++)
            f.x[i * D + j] = (j == 2 ? -60.0f : f.x[i * D + j]);
    sr_matrix_normalize(&f, 0);
    f.label[0] = -1;
    CHECK_OK(sr_outliers(&o, ROWS(f), &r));
    CHECK_INT(r.n_classes, 8);
    CHECK_INT(r.of_class[0].label, 5);
    CHECK(r.of_class[0].found && !r.of_class[7].found);
    CHECK_INT(r.of_class[0].images, N / 8);
    for (int c = 0; c < r.n_classes; c++)
        check_median(&f, &r.of_class[c]);
    CHECK(isnan(r.v[0].distance)); // row 0 has no class, so it comes first
    CHECK_INT(r.v[0].row, 0);
    sr_outliers_deinit(&r);
    for (int i = 0; i < N; i++)
        f.label[i] = -1;
    CHECK_FAILS(sr_outliers(&o, ROWS(f), &r), SR_ERR_CONFIG, "--per-class");
    sr_outliers_deinit(&r);
    f.n = 2;
    CHECK_FAILS(sr_outliers(&o, ROWS(f), &r), SR_ERR_CONFIG, "at least 3");
    sr_matrix_deinit(&f);
}

TEST(test_memory) {
    SrMatrix f;
    SrOutlierReport r;
    SrOutlierOptions o = {.share = 0.1};
    plant(&f, 1, 1);
    int64_t live = sr_mem_live();
    for (int i = 1; i <= 14; i++) {
        sr_mem_fail_at(i);
        CHECK_FAILS(sr_outliers(&o, ROWS(f), &r), SR_ERR_MEMORY, "memory");
        sr_mem_fail_at(0);
        sr_outliers_deinit(&r);
        CHECK_INT(sr_mem_live(), live);
    }
    sr_matrix_deinit(&f);
}

SR_TESTS(outliers, unit(test_planted), unit(test_group), unit(test_classes), unit(test_memory))
