// Tests average precision computed by hand: both rules, ties, rows without a judgement, queries
// without positives.
#include "measure/neighbours/average_precision.h"
#include "tests/check.h"

static double ap(const float *score, const int8_t *relevant, int64_t n, SrApKind kind) {
    double value = 0;
    CHECK_OK(sr_average_precision(score, relevant, n, kind, &value));
    return value;
}

TEST(test_by_hand) {
    const float score[] = {0.9f, 0.8f, 0.7f, 0.6f, 0.5f};
    const int8_t relevant[] = {0, 1, 1, 0, 1};
    // Precision at the three hits is 1/2, 2/3, 3/5; the envelope lifts the first to 2/3.
    CHECK_NEAR(ap(score, relevant, 5, SR_AP_STEPS), (0.5 + 2.0 / 3 + 0.6) / 3, 1e-12);
    CHECK_NEAR(ap(score, relevant, 5, SR_AP_ENVELOPE), (2.0 / 3 + 2.0 / 3 + 0.6) / 3, 1e-12);
}

TEST(test_unjudged_and_ties) {
    const float score[] = {3, 2, 2, 2, 1, NAN};
    const int8_t unjudged[] = {-1, 1, -1, -1, 0, 0}, tied[] = {0, 1, 0, 1, 0, 0};
    CHECK_NEAR(ap(score, unjudged, 6, SR_AP_STEPS), 1, 0);
    // Four rows have a score of at least 2; two of them are relevant.
    CHECK_NEAR(ap(score, tied, 6, SR_AP_STEPS), 0.5, 1e-12);
    const int8_t last[] = {0, 0, 0, 0, 0, 1}, none[] = {0, 0, -1, 0, 0, 0};
    CHECK_NEAR(ap(score, last, 6, SR_AP_STEPS), 1.0 / 6, 1e-12);
    CHECK_NEAR(ap(score, none, 6, SR_AP_STEPS), -1, 0);
    CHECK_NEAR(ap(score, none, 0, SR_AP_ENVELOPE), -1, 0);
}

SR_TESTS(average_precision, unit(test_by_hand), unit(test_unjudged_and_ties))
