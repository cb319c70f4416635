// Tests retrieval: mean average precision by hand and against the definition, queries that
// exclude themselves, several labels, threads, refusals.
#include "base/parallel.h"
#include "measure/neighbours/retrieval.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

TEST(test_by_hand) {
    float x[5] = {5, 4, 3, 2, 1}, q[2] = {1, 1};
    int64_t label[5] = {0, 1, 1, -1, 0}, asked[2] = {1, 7};
    SrMatrix database = {.n = 5, .d = 1, .x = x, .label = label};
    SrMatrix query = {.n = 2, .d = 1, .x = q, .label = asked};
    SrRetrieval r;
    CHECK_OK(sr_retrieval(&query, &database, false, &r));
    CHECK_INT(r.queries, 1); // no row has label 7
    CHECK_NEAR(r.map, 100 * (1.0 / 2 + 2.0 / 3) / 2, 1e-9);
    CHECK_NEAR(r.p1, 0, 0);
    CHECK_NEAR(r.p5, 40, 1e-9);
    CHECK_NEAR(r.p10, 20, 1e-9);
}

// Returns the average precision of query q: the precision at every hit of the sorted database.
static double plain_ap(const SrMatrix *f, int64_t q) {
    double sum = 0;
    int64_t hits = 0;
    for (int64_t i = 0; i < f->n; i++) {
        if (i == q || f->label[i] != f->label[q])
            continue;
        int64_t above = 0, relevant = 0;
        double own = 0;
        for (int j = 0; j < f->d; j++)
            own += (double)f->x[q * f->d + j] * (double)f->x[i * f->d + j];
        for (int64_t k = 0; k < f->n; k++) {
            double other = 0;
            for (int j = 0; j < f->d; j++)
                other += (double)f->x[q * f->d + j] * (double)f->x[k * f->d + j];
            bool counts = k != q && (k == i || other > own);
            above += counts;
            relevant += counts && f->label[k] == f->label[q];
        }
        sum += (double)relevant / (double)above;
        hits++;
    }
    return sum / (double)hits;
}

TEST(test_without_itself) {
    SrMatrix f;
    SrRetrieval r, again;
    double sum = 0;
    test_rows_planted(&f, 60, 5, 4, 0.7, 3);
    int before = sr_parallel_threads();
    sr_parallel_set_threads(2);
    CHECK_OK(sr_retrieval(&f, NULL, true, &r));
    sr_parallel_set_threads(1);
    CHECK_OK(sr_retrieval(&f, NULL, false, &again));
    sr_parallel_set_threads(before);
    for (int64_t q = 0; q < f.n; q++)
        sum += plain_ap(&f, q);
    CHECK_INT(r.queries, 60);
    CHECK_NEAR(r.map, 100 * sum / 60, 1e-6);
    CHECK_NEAR(r.map, again.map, 0);
    sr_matrix_deinit(&f);
}

TEST(test_planted_and_refused) {
    SrMatrix f, g;
    SrRetrieval r;
    test_rows_planted(&f, 900, 16, 9, 15, 4);
    test_rows_planted(&g, 300, 16, 9, 15, 5);
    CHECK_OK(sr_retrieval(&g, &f, true, &r));
    CHECK(r.queries == 300 && r.map > 99.9 && r.p10 > 99.9);
    int8_t both[2 * 300];
    for (int i = 0; i < 600; i++)
        both[i] = (int8_t)(i % 2); // all rows have class 1
    g.n_targets = 2;
    g.target = both;
    CHECK_OK(sr_retrieval(&g, NULL, true, &r));
    CHECK_NEAR(r.map, 100, 1e-9);
    CHECK_FAILS(sr_retrieval(&g, &f, true, &r), SR_ERR_CONFIG, "and 2 labels");
    g.target = NULL;
    sr_matrix_deinit(&f);
    sr_matrix_deinit(&g);
}

// A row of NaN comes last for every query, and a query of NaN finds nothing.
TEST(test_not_numbers) {
    enum { N = 13 };
    float x[N], q[2] = {1, NAN};
    int64_t label[N], asked[2] = {1, 0};
    for (int i = 0; i < N; i++) {
        x[i] = (float)(N - i);
        label[i] = i == N - 1;
    }
    x[N - 1] = NAN; // the only row of class 1
    SrMatrix database = {.n = N, .d = 1, .x = x, .label = label};
    SrMatrix query = {.n = 2, .d = 1, .x = q, .label = asked};
    SrRetrieval r;
    CHECK_OK(sr_retrieval(&query, &database, false, &r));
    CHECK_INT(r.queries, 2);
    CHECK_NEAR(r.p1, 0, 0);
    CHECK_NEAR(r.p10, 0, 0);
    CHECK_NEAR(r.map, 100 * (1.0 / N + 0) / 2, 1e-9);
    database.n = 0;
    CHECK_FAILS(sr_retrieval(&query, &database, false, &r), SR_ERR_CONFIG, "the database is empty");
    database.n = N;
    query.n = 0;
    CHECK_FAILS(sr_retrieval(&query, &database, false, &r), SR_ERR_CONFIG, "no queries");
}

TEST(test_one_row) {
    float x[2] = {1, 2};
    int64_t label[1] = {0};
    SrMatrix one = {.n = 1, .d = 2, .x = x, .label = label};
    SrRetrieval r;
    CHECK_FAILS(sr_retrieval(&one, NULL, false, &r), SR_ERR_CONFIG,
                "one image has no other one to retrieve");
}

SR_TESTS(retrieval, unit(test_by_hand), unit(test_without_itself), unit(test_planted_and_refused),
         unit(test_not_numbers), unit(test_one_row))
