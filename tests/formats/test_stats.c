// Tests the statistics of a tensor's numbers, and the differences of two tensors.
#include "formats/stats.h"

#include "base/compiler.h"
#include "tests/check.h"

TEST(test_stats) {
    float a[] = {0, -3, 4, NAN, INFINITY}, b[] = {0, -3, 4.5f, NAN, 1};
    SrTensor x = {SR_SHAPE(5), SR_F32, a}, y = {SR_SHAPE(5), SR_F32, b};
    SrTensorStats s;
    SrTensorDiff d;
    sr_tensor_stats(&x, &s);
    CHECK_INT(s.nan, 1);
    CHECK_INT(s.infinite, 1);
    CHECK_INT(s.zeros, 1);
    CHECK_NEAR(s.min, -3, 0);
    CHECK_NEAR(s.max, 4, 0);
    CHECK_NEAR(s.norm, 5, 1e-12);
    CHECK_NEAR(s.mean, 1.0 / 3, 1e-12);
    CHECK_NEAR(s.deviation, sqrt(25.0 / 3 - 1.0 / 9), 1e-12);
    sr_tensor_diff(&x, &y, &d);
    CHECK(!d.same_bits && isinf(d.largest));
    x.shape = y.shape = SR_SHAPE(4);
    sr_tensor_diff(&x, &y, &d);
    CHECK_NEAR(d.largest, 0.5, 0);
    CHECK_NEAR(d.relative, 0.125, 0);
    CHECK_NEAR(d.cosine, 27 / (5 * sqrt(29.25)), 1e-12);
    sr_tensor_diff(&x, &x, &d);
    CHECK(d.same_bits);
}

// Two tensors without a common direction, without numbers, and with numbers on one side only.
TEST(test_differences) {
    float zeros[2] = {0, 0}, x[2] = {3, -4}, across[2] = {4, 3}, none[2] = {NAN, NAN};
    float odd[2] = {NAN, -4}, other[2] = {INFINITY, -4};
    int8_t small[2] = {3, -4};
    const struct {
        float *a, *b;
        double largest, relative, cosine;
    } cases[] = {{zeros, x, 4, INFINITY, 0},        {x, zeros, 4, 1, 0},
                 {x, across, 7, 7.0 / 4, 0},        {none, none, 0, 0, 1},
                 {x, odd, INFINITY, INFINITY, 1},   {odd, x, INFINITY, INFINITY, 1},
                 {x, other, INFINITY, INFINITY, 1}, {none, x, INFINITY, INFINITY, 1}};
    SrTensorDiff d;
    SrTensorStats s;
    for (int i = 0; i < SR_COUNT(cases); i++) {
        SrTensor a = {SR_SHAPE(2), SR_F32, cases[i].a}, b = {SR_SHAPE(2), SR_F32, cases[i].b};
        sr_tensor_diff(&a, &b, &d);
        if (d.largest != cases[i].largest || d.relative != cases[i].relative ||
            fabs(d.cosine - cases[i].cosine) > 1e-12)
            fail_msg("case %d: %g %g %g", i, d.largest, d.relative, d.cosine);
        CHECK(sr_tensor_close(&a, &a, 0, 0)); // NaN equals NaN
        CHECK_INT(sr_tensor_close(&a, &b, 0, 0), cases[i].largest == 0);
        CHECK_INT(sr_tensor_close(&a, &b, 0, 7), cases[i].largest <= 7);
    }
    SrTensor floats = {SR_SHAPE(2), SR_F32, x}, bytes = {SR_SHAPE(2), SR_I8, small};
    sr_tensor_diff(&floats, &bytes, &d); // equal numbers of two types
    CHECK(!d.same_bits && d.largest == 0 && d.relative == 0);
    CHECK_NEAR(d.cosine, 1, 1e-12);
    SrTensor near_x = {SR_SHAPE(2), SR_F32, (float[]){3.03f, -4}};
    CHECK(sr_tensor_close(&floats, &near_x, 0.011, 0) &&
          !sr_tensor_close(&floats, &near_x, 0.009, 0));
    CHECK(sr_tensor_close(&floats, &near_x, 0, 0.031) &&
          !sr_tensor_close(&floats, &near_x, 0, 0.029));
    SrTensor empty = {SR_SHAPE(0), SR_F32, NULL};
    sr_tensor_diff(&empty, &empty, &d);
    CHECK(d.same_bits && d.cosine == 1);
    sr_tensor_stats(&empty, &s);
    CHECK(s.n == 0 && s.min == 0 && s.max == 0 && s.norm == 0);
    SrTensor nan = {SR_SHAPE(2), SR_F32, none};
    sr_tensor_stats(&nan, &s);
    CHECK(s.nan == 2 && s.min == 0 && s.max == 0 && s.mean == 0);
}

SR_TESTS(stats, unit(test_stats), unit(test_differences))
