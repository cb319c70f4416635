// Tests vector loops over rows (sums, products, exp) against libm in double precision, on every
// instruction set of this processor.
#include "kernels/core/rows.h"

#include "base/bf16.h"

#include "tests/check.h"
#include "tests/machine.h"

static void on_every_level(void (*body)(const SrRows *k)) {
    SrCpuLevel best = test_machine()->level;
    for (int level = SR_CPU_PLAIN; level <= (int)best; level++) {
        test_machine_level((SrCpuLevel)level);
        body(sr__rows(test_machine()));
    }
    test_machine_level(best);
}

static void check_exp(const SrRows *k) {
    float x[1001], y[1001];
    for (int i = 0; i <= 1000; i++)
        x[i] = -87 + 0.1757f * (float)i; // to 88.7
    double sum = k->exp_sum(y, x, 0, 1, 501), expected = 0;
    k->exp_sum(y, x, 0, 1, 1001);
    for (int i = 0; i <= 1000; i++)
        CHECK_NEAR(y[i] / exp((double)x[i]), 1, 2.5e-7);
    for (int i = 0; i <= 500; i++)
        expected += exp((double)x[i]);
    CHECK_NEAR(sum / expected, 1, 1e-6);
    CHECK_NEAR(k->exp_sum(NULL, x, 0, 1, 501), sum, 0);
}

static void check_exp_limits(const SrRows *k) {
    float x[] = {-1e30f, -105, 0, 200, NAN, -INFINITY, INFINITY}, y[7];
    k->exp_sum(y, x, 0, 1, 7);
    CHECK(y[0] == 0 && y[1] == 0 && y[2] == 1 && isinf(y[3]) && isnan(y[4]) && y[5] == 0 &&
          isinf(y[6]));
}

// Every length from 1 to more than a few vectors is summed, so that each tail is tested.
static void check_sums(const SrRows *k) {
    float a[200], b[200];
    SrBf16 a_half[200], b_half[200];
    for (int i = 0; i < 200; i++) {
        a[i] = (float)(i % 7 - 3) + 0.25f;
        b[i] = (float)(i % 5);
        a_half[i] = sr_bf16_round(a[i]);
        b_half[i] = sr_bf16_round(b[i]);
    }
    for (int n = 1; n <= 200; n++) {
        double dot = 0, sum = 0, distance = 0, most = -10;
        for (int i = 0; i < n; i++) {
            dot += (double)(a[i] * b[i]);
            sum += (double)a[i];
            distance += (double)(a[i] * (4 - b[i]));
            most = fmax(most, (double)a[i]);
        }
        CHECK_NEAR(k->dot(a, b, n), dot, 1e-4);
        CHECK_NEAR(k->float_dot(SR_F32, a, b, n), dot, 1e-4);
        CHECK_NEAR(k->float_dot(SR_BF16, a_half, b_half, n), dot, 1e-4); // every product is exact
        CHECK_NEAR(k->sum(a, n), sum, 1e-4);
        CHECK_NEAR(k->distance(a, b, 4, n), distance, 1e-4);
        CHECK_NEAR(k->max(a, n), most, 0);
    }
    double columns[3] = {1, 2, 3};
    k->column_sums(columns, a, 10, 20, 3);
    for (int c = 0; c < 3; c++) {
        double sum = 0;
        for (int r = 0; r < 10; r++)
            sum += (double)a[20 * r + c];
        CHECK_NEAR(columns[c], sum + c + 1, 1e-5);
    }
}

static void check_relu(const SrRows *k) {
    float x[] = {-1, 0, 2, NAN}, dy[] = {5, 6, 7, 8}, y[4], dx[4];
    k->relu(SR_F32, y, x, 4);
    CHECK(y[0] == 0 && y[1] == 0 && y[2] == 2 && isnan(y[3]));
    k->relu_grad(SR_F32, dx, y, dy, 3);
    CHECK(dx[0] == 0 && dx[1] == 0 && dx[2] == 7);
}

TEST(test_exp) {
    on_every_level(check_exp);
    on_every_level(check_exp_limits);
}

TEST(test_sums) { on_every_level(check_sums); }

TEST(test_relu) { on_every_level(check_relu); }

SR_TESTS(rows, unit(test_exp), unit(test_sums), unit(test_relu))
