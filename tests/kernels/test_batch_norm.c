// Tests batch_norm beyond the op contract: PyTorch's running statistics, means far from zero,
// batches of one row, large tensors.
#include <string.h>

#include "tests/check.h"
#include "tests/kernels/op_call.h"

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR, COUNT };

static OpCall *start(OpCall *c, const char *params, SrShape shape, int n_in, bool train) {
    SrOpCase example = {params, n_in, {shape, shape}, false};
    op_call_init(c, op_named("batch_norm"), &example, 1, train, 1);
    return c;
}

static float *floats(SrTensor t) { return t.data; }

static void set(float *to, const double *from, int n) {
    for (int i = 0; i < n; i++)
        to[i] = (float)from[i];
}

// One channel with x = 1, 2, 3, 6 has mean 3, biased variance 3.5 and unbiased variance 14/3.
TEST(test_running_statistics) {
    OpCall c;
    start(&c, "{momentum: 0.25, eps: 0.5}", SR_SHAPE(4, 1), 1, true);
    set(c.x[0].data, (double[]){1, 2, 3, 6}, 4);
    floats(c.w[WEIGHT])[0] = 2;
    floats(c.w[BIAS])[0] = -1;
    floats(c.w[RUNNING_MEAN])[0] = 1;
    floats(c.w[RUNNING_VAR])[0] = 2;
    op_call_forward(&c);
    CHECK_NEAR(floats(c.w[RUNNING_MEAN])[0], 0.75 * 1 + 0.25 * 3, 1e-6);
    CHECK_NEAR(floats(c.w[RUNNING_VAR])[0], 0.75 * 2 + 0.25 * 14 / 3, 1e-6);
    CHECK_INT(*(int64_t *)c.w[COUNT].data, 2);
    CHECK_NEAR(floats(c.y)[3], 2 * 3 / sqrt(4.0) - 1, 1e-6);
    op_call_deinit(&c);
}

TEST(test_evaluation_leaves_state_alone) {
    OpCall c;
    start(&c, "{}", SR_SHAPE(5, 3), 1, false);
    float mean = floats(c.w[RUNNING_MEAN])[1], var = floats(c.w[RUNNING_VAR])[1];
    op_call_forward(&c);
    op_call_backward(&c);
    CHECK(floats(c.w[RUNNING_MEAN])[1] == mean && floats(c.w[RUNNING_VAR])[1] == var);
    CHECK_INT(*(int64_t *)c.w[COUNT].data, 1);
    double expected = (double)c.dy[1] * (double)floats(c.w[WEIGHT])[1] / sqrt((double)var + 1e-5);
    // In evaluation mode the gradient has no sums over the batch.
    CHECK_NEAR(c.dx[0][1], expected, 1e-5 * fabs(expected));
    op_call_deinit(&c);
}

// Writes the channel sums of x[0] as an op that precedes the batch norm would, one group of
// unit_rows rows at a time.
static void take_sums(OpCall *c, int64_t rows, int64_t unit_rows) {
    int C = sr_shape_last(c->shapes[0]);
    int64_t units = (rows + unit_rows - 1) / unit_rows;
    SrChannelSums s = c->x_sums = sr__sums_in(op_call_alloc(c, sr__sums_bytes(units, C)), units);
    memset(s.unit, 0, sizeof(float) * (size_t)(3 * units * C));
    for (int64_t r = 0; r < rows; r++) {
        int64_t u = r / unit_rows;
        s.count[u] = (float)(r % unit_rows + 1);
        for (int i = 0; i < C; i++) {
            float x = floats(c->x[0])[r * C + i], *own = s.unit + 3 * u * C + i;
            if (r % unit_rows == 0)
                own[0] = x;
            own[C] += x - own[0];
            own[2 * C] += (x - own[0]) * (x - own[0]);
        }
    }
}

// Statistics from channel sums of the preceding op equal those computed from x up to float
// rounding, also where the channels are split into several pieces of work.
TEST(test_sums_from_below) {
    OpCall c[2];
    SrShape shape = SR_SHAPE(2000, 37);
    for (int i = 0; i < 2; i++) {
        start(&c[i], "{}", shape, 1, true);
        if (i)
            take_sums(&c[i], shape.d[0], 96);
        op_call_forward(&c[i]);
    }
    for (int64_t i = 0; i < sr_shape_count(shape); i++)
        CHECK_NEAR(floats(c[0].y)[i], floats(c[1].y)[i],
                   2e-6 * (1 + fabs((double)floats(c[0].y)[i])));
    for (int i = 0; i < 37; i++) {
        CHECK_NEAR(floats(c[0].w[RUNNING_MEAN])[i], floats(c[1].w[RUNNING_MEAN])[i], 1e-6);
        CHECK_NEAR(floats(c[0].w[RUNNING_VAR])[i], floats(c[1].w[RUNNING_VAR])[i], 1e-6);
    }
    op_call_deinit(&c[0]);
    op_call_deinit(&c[1]);
}

// Checks a mean of 10000 with a deviation of 0.01: sums about zero in single precision would lose
// the deviation.
static void mean_far_from_zero(bool from_below) {
    OpCall c;
    enum { ROWS = 3000 };
    start(&c, "{eps: 0}", SR_SHAPE(ROWS, 2), 1, true);
    double sum = 0, square = 0;
    for (int i = 0; i < ROWS; i++) {
        floats(c.x[0])[2 * i] =
            10000 + 0.0078125f * (float)(i % 5 - 2); // x is exact in single precision
        sum += (double)floats(c.x[0])[2 * i];
    }
    for (int i = 0; i < ROWS; i++)
        square += pow((double)floats(c.x[0])[2 * i] - sum / ROWS, 2);
    floats(c.w[WEIGHT])[0] = 1;
    floats(c.w[BIAS])[0] = 0;
    if (from_below)
        take_sums(&c, ROWS, 96);
    op_call_forward(&c);
    double first = ((double)floats(c.x[0])[0] - sum / ROWS) / sqrt(square / ROWS);
    CHECK_NEAR(floats(c.y)[0], first, 1e-5);
    op_call_deinit(&c);
}

TEST(test_mean_far_from_zero) {
    mean_far_from_zero(false);
    mean_far_from_zero(true);
}

// A batch of one row has no variance: the output is the bias, and nothing divides by zero.
TEST(test_one_row) {
    OpCall c;
    start(&c, "{}", SR_SHAPE(1, 3), 1, true);
    op_call_forward(&c);
    op_call_backward(&c);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(floats(c.y)[i], floats(c.w[BIAS])[i], 1e-6);
        CHECK(isfinite(floats(c.w[RUNNING_VAR])[i]));
        CHECK_NEAR(c.dx[0][i], 0, 1e-4); // small next to 1 / sqrt(eps) = 316
    }
    op_call_deinit(&c);
}

TEST(test_residual_receives_masked_gradient) {
    OpCall c;
    start(&c, "{relu: true, residual: true}", SR_SHAPE(40, 21), 2, true);
    op_call_forward(&c);
    op_call_backward(&c);
    int masked = 0;
    for (int i = 0; i < 40 * 21; i++) {
        CHECK(c.dx[1][i] == (floats(c.y)[i] > 0 ? c.dy[i] : 0));
        masked += floats(c.y)[i] <= 0;
    }
    CHECK(masked > 100 && masked < 740);
    op_call_deinit(&c);
}

TEST(test_nan_is_passed_on) {
    OpCall c;
    start(&c, "{relu: true}", SR_SHAPE(9, 2), 1, true);
    floats(c.x[0])[4] = NAN;
    op_call_forward(&c);
    CHECK(isnan(floats(c.y)[0]) && isnan(floats(c.y)[4]));
    CHECK(isfinite(floats(c.y)[1]));
    op_call_deinit(&c);
}

// Tensors larger than the caches use streaming stores, and wide ones several strips: the same
// rows repeated many times give the same statistics, outputs and gradients as once.
TEST(test_large_is_like_small) {
    enum { ROWS = 10, C = 640, TIMES = 700 };
    SrShape shape = SR_SHAPE(ROWS, C);
    SrOpCase example = {"{relu: true, residual: true}", 2, {shape, shape}, false};
    OpCall small, large;
    op_call_init(&small, op_named("batch_norm"), &example, 1, true, 1);
    op_call_init(&large, op_named("batch_norm"), &example, TIMES, true, 1);
    for (int t = 0; t < TIMES; t++) { // dy is drawn once more for every repetition
        memcpy(large.dy + (int64_t)t * ROWS * C, small.dy, sizeof(float) * ROWS * C);
        for (int i = 0; i < 2; i++)
            memcpy(floats(large.x[i]) + (int64_t)t * ROWS * C, small.x[i].data,
                   sizeof(float) * ROWS * C);
    }
    for (int i = 0; i < 2; i++)
        memcpy(large.w[i].data, small.w[i].data, sizeof(float) * C);
    op_call_forward(&small), op_call_backward(&small);
    op_call_forward(&large), op_call_backward(&large);
    double worst = 0;
    for (int64_t i = 0; i < (int64_t)ROWS * C * TIMES; i++) {
        int64_t j = i % (ROWS * C);
        worst = fmax(worst, fabs((double)floats(large.y)[i] - (double)floats(small.y)[j]));
        worst = fmax(worst, fabs((double)large.dx[0][i] - (double)small.dx[0][j]));
        worst = fmax(worst, fabs((double)large.dx[1][i] - (double)small.dx[1][j]));
    }
    CHECK_NEAR(worst, 0, 1e-4);
    op_call_deinit(&small), op_call_deinit(&large);
}

SR_TESTS(batch_norm, unit(test_large_is_like_small), unit(test_running_statistics),
         unit(test_evaluation_leaves_state_alone), unit(test_mean_far_from_zero),
         unit(test_sums_from_below), unit(test_one_row), unit(test_nan_is_passed_on),
         unit(test_residual_receives_masked_gradient))
