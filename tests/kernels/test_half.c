// Tests conversions of half precision over all halves and at the bounds of rounding.
#include "kernels/core/half.h"

#include "base/compiler.h"
#include "tests/check.h"

static double exact(int h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return h & 0x8000 ? -size : size;
}

TEST(test_all_halves) {
    for (int h = 0; h < 0x10000; h++) {
        uint16_t x = (uint16_t)h, back;
        float y;
        if ((h >> 10 & 31) == 31)
            continue; // infinities and NaN are never written
        sr__half()->to_float(&y, &x, 1);
        CHECK_NEAR(y, exact(h), 0);
        sr__half()->from_float(&back, &y, 1);
        CHECK_INT(back, h);
    }
}

TEST(test_rounding) {
    const float x[] = {1 + 0x1p-11f, 1 + 0x3p-11f, 1 + 0x1.1p-11f, 0x1p-25f,
                       0x1.8p-24f,   1e30f,        -7e4f};
    const uint16_t expected[] = {0x3c00, 0x3c02, 0x3c01, 0, 2, 0x7bff, 0xfbff};
    uint16_t y[SR_COUNT(x)];
    sr__half()->from_float(y, x, SR_COUNT(x));
    for (int i = 0; i < SR_COUNT(x); i++)
        CHECK_INT(y[i], expected[i]);
}

TEST(test_products) {
    enum { D = 37, N = 5 };
    uint16_t x[N * D];
    float q[D], y[N], row[D];
    for (int i = 0; i < N * D; i++)
        x[i] = (uint16_t)(0x3000 + 37 * i % 0xc00 + (i % 3 ? 0x8000 : 0));
    for (int i = 0; i < D; i++)
        q[i] = (float)(i % 7) - 3;
    sr__half()->products(y, x, q, N, D);
    for (int r = 0; r < N; r++) {
        double sum = 0, size = 0;
        sr__half()->to_float(row, x + r * D, D);
        for (int i = 0; i < D; i++) {
            sum += (double)row[i] * (double)q[i];
            size += fabs((double)row[i] * (double)q[i]);
        }
        CHECK_NEAR(y[r], sum, 1e-6 * size);
    }
}

SR_TESTS(half, unit(test_all_halves), unit(test_rounding), unit(test_products))
