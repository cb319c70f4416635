// Tests loops of the activations against libm in double precision, on every instruction set of
// this processor. On bfloat16 the result is that of floats, rounded.
#include "kernels/activation/pointwise.h"

#include "base/bf16.h"
#include "tests/check.h"
#include "tests/machine.h"

enum { N = 801 };

static void on_every_level(void (*body)(const SrPointwiseTable *k)) {
    SrCpuLevel best = test_machine()->level;
    for (int level = SR_CPU_PLAIN; level <= (int)best; level++) {
        test_machine_level((SrCpuLevel)level);
        body(sr__pointwise(test_machine()));
    }
    test_machine_level(best);
}

static void check_gelu(const SrPointwiseTable *k) {
    float x[N], y[N], dx[N], one[N];
    for (int i = 0; i < N; i++) {
        x[i] = 0.025f * (float)(i - 400); // from -10 to 10
        one[i] = 1;
    }
    k->gelu.f(SR_F32, y, x, N);
    k->gelu.grad(SR_F32, dx, x, one, N);
    for (int i = 0; i < N; i++) {
        double v = (double)x[i], cdf = 0.5 * erfc(-v * sqrt(0.5));
        CHECK_NEAR(y[i], v * cdf, 2e-7 * (1 + fabs(v)));
        CHECK_NEAR(dx[i], cdf + v * exp(-v * v / 2) / sqrt(8 * atan(1)), 3e-7);
    }
    float far[] = {-100, 100, NAN}, out[3];
    k->gelu.f(SR_F32, out, far, 3);
    CHECK_NEAR(out[0], 0, 0);
    CHECK_NEAR(out[1], 100, 0);
    CHECK(isnan(out[2]));
    k->gelu.grad(SR_F32, out, far, one, 3);
    CHECK_NEAR(out[0], 0, 0);
    CHECK_NEAR(out[1], 1, 0);
    CHECK(isnan(out[2]));
}

// y overwrites x and dx overwrites dy, as in a plan that needs neither x nor dy any more.
static void check_halves(const SrPointwise *k) {
    SrBf16 x[N], y[N], dx[N];
    float wide[N], slope[N];
    for (int i = 0; i < N; i++) {
        y[i] = x[i] = sr_bf16_round(0.025f * (float)(i - 400));
        dx[i] = sr_bf16_round(0.3f);
        wide[i] = sr_bf16_float(x[i]);
        slope[i] = sr_bf16_float(dx[i]);
    }
    k->f(SR_BF16, y, y, N);
    k->grad(SR_BF16, dx, x, dx, N);
    k->grad(SR_F32, slope, wide, slope, N);
    k->f(SR_F32, wide, wide, N);
    for (int i = 0; i < N; i++) {
        CHECK_NEAR(sr_bf16_float(y[i]), wide[i], 0.004 * fabs((double)wide[i]));
        CHECK_NEAR(sr_bf16_float(dx[i]), slope[i], 0.004 * fabs((double)slope[i]));
    }
}

// Checks gelu of every bfloat16 number: the error is one rounding and that of single precision.
static void check_gelu_of_all_halves(const SrPointwise *gelu) {
    for (int bits = 0; bits < 1 << 16; bits++) {
        SrBf16 x = (SrBf16)bits, y;
        double v = (double)sr_bf16_float(x), exact = v * 0.5 * erfc(-v / sqrt(2));
        gelu->f(SR_BF16, &y, &x, 1);
        if (isnan(v))
            CHECK(isnan(sr_bf16_float(y)));
        else if (isfinite(v))
            CHECK_NEAR(sr_bf16_float(y), exact, 0.004 * fabs(exact) + 2e-7 * (1 + fabs(v)));
    }
}

static void check_all_halves(const SrPointwiseTable *k) {
    check_gelu_of_all_halves(&k->gelu);
    const SrPointwise *each[] = {&k->gelu,        &k->sigmoid,   &k->silu,
                                 &k->hardsigmoid, &k->hardswish, &k->relu6};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        check_halves(each[i]);
}

TEST(test_gelu) { on_every_level(check_gelu); }

TEST(test_halves) { on_every_level(check_all_halves); }

SR_TESTS(pointwise, unit(test_gelu), unit(test_halves))
