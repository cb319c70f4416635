// Tests softmax regression: its minimum checked by plain loops in double precision, threads, a
// class without rows, two classes.
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "measure/probes/liblinear.h"
#include "measure/probes/softmax_regression.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"

enum { N = 9000, D = 7, CLASSES = 4 }; // two blocks of rows, the second partial

// Returns the largest component of the gradient of the mean loss with its penalty, which is 0 at
// the minimum.
static double largest_gradient(const SrMatrix *f, int classes, double cost, const double *w) {
    double g[CLASSES * (D + 1)] = {0}, largest = 0, twice = classes == 2 ? 2 : 1;
    for (int64_t i = 0; i < f->n; i++) {
        double p[CLASSES], sum = 0;
        for (int k = 0; k < classes; k++) {
            p[k] = w[k * (D + 1) + D];
            for (int j = 0; j < D; j++)
                p[k] += w[k * (D + 1) + j] * (double)f->x[i * D + j];
            sum += p[k] = exp(p[k]);
        }
        for (int k = 0; k < classes; k++) {
            double residual = p[k] / sum - (f->label[i] == k);
            for (int j = 0; j <= D; j++)
                g[k * (D + 1) + j] +=
                    residual * (j < D ? (double)f->x[i * D + j] : 1) / (double)f->n;
        }
    }
    for (int i = 0; i < classes * (D + 1); i++) {
        double penalty = i % (D + 1) < D ? twice * w[i] / (cost * (double)f->n) : 0;
        largest = fmax(largest, fabs(g[i] + penalty));
    }
    return largest;
}

static SrStatus train(const SrMatrix *f, int classes, double cost, int max_iter, double *w) {
    const SrRowView rows = sr_row_view(f);
    return sr_softmax_train(&rows, classes, cost, max_iter, w);
}

TEST(test_minimum) {
    static const double costs[] = {1, 0.001, 30};
    double w[CLASSES * (D + 1)], again[CLASSES * (D + 1)];
    SrMatrix f;
    int before = sr_parallel_threads();
    test_rows_planted(&f, N, D, CLASSES, 0.5, 2);
    for (int i = 0; i < SR_COUNT(costs); i++) {
        CHECK_OK(train(&f, CLASSES, costs[i], 200, w));
        CHECK_NEAR(largest_gradient(&f, CLASSES, costs[i], w), 0, 2e-5);
        sr_parallel_set_threads(before > 1 ? 1 : 2);
        CHECK_OK(train(&f, CLASSES, costs[i], 200, again));
        sr_parallel_set_threads(before);
        CHECK(memcmp(w, again, sizeof w) == 0);
    }
    CHECK_OK(train(&f, CLASSES, 1, 1, w));
    CHECK(largest_gradient(&f, CLASSES, 1, w) > 1e-3); // one iteration does not reach the minimum
    sr_matrix_deinit(&f);
}

TEST(test_two_classes) {
    double w[2 * (D + 1)];
    SrMatrix f;
    test_rows_planted(&f, 500, D, 2, 0.4, 2);
    CHECK_OK(train(&f, 2, 0.01, 200, w));
    CHECK_NEAR(largest_gradient(&f, 2, 0.01, w), 0, 2e-5);
    for (int j = 0; j < D; j++)
        CHECK_NEAR(w[j], -w[D + 1 + j], 1e-5); // the two classes have opposite weights
    sr_matrix_deinit(&f);
}

// Class 2 has no rows; the weights of the others are those of a fit without it.
TEST(test_absent_class) {
    double w[4 * (D + 1)], three[3 * (D + 1)];
    float scores[300 * 4];
    SrMatrix f;
    test_rows_planted(&f, 300, D, 3, 0.7, 2);
    CHECK_OK(train(&f, 3, 1, 100, three));
    for (int64_t i = 0; i < f.n; i++)
        f.label[i] = f.label[i] == 2 ? 3 : f.label[i];
    CHECK_OK(train(&f, 4, 1, 100, w));
    CHECK_OK(sr_linear_scores(&f, w, 4, scores));
    for (int64_t i = 0; i < f.n; i++)
        CHECK(scores[i * 4 + 2] < scores[i * 4]);
    for (int j = 0; j <= D; j++) {
        CHECK_NEAR(w[j], three[j], 1e-4);
        CHECK_NEAR(w[3 * (D + 1) + j], three[2 * (D + 1) + j], 1e-4);
    }
    sr_matrix_deinit(&f);
}

SR_TESTS(softmax_regression, unit(test_minimum), unit(test_two_classes), unit(test_absent_class))
