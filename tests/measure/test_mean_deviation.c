// Mean and sample standard deviation against values worked out by hand.
#include "measure/mean_deviation.h"

#include <math.h>

#include "tests/check.h"

TEST(test_by_hand) {
    SrMeanDeviation s =
        sr_mean_deviation((const double[]){2, 4, 4, 6}, 4); // squares 4 + 0 + 0 + 4, over 3
    CHECK_NEAR(s.mean, 4, 0);
    CHECK_NEAR(s.deviation, sqrt(8.0 / 3), 1e-15);
    s = sr_mean_deviation((const double[]){-1.5}, 1);
    CHECK(s.mean == -1.5 && s.deviation == 0);
    s = sr_mean_deviation((const double[]){1e9 + 1, 1e9 + 3}, 2); // close values keep their digits
    CHECK_NEAR(s.deviation, sqrt(2), 1e-12);
    s = sr_mean_deviation((const double[]){1, NAN}, 2);
    CHECK(isnan(s.mean) && isnan(s.deviation));
}

SR_TESTS(mean_deviation, unit(test_by_hand))
