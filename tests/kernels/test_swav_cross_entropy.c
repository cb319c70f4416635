// Tests the op swav_cross_entropy beyond the op contract: known values, large scores, scale of
// the gradient.
#include "tests/check.h"
#include "tests/kernels/op_call.h"

static void start(OpCall *c, const char *params, int rows, int code_rows, int P) {
    SrOpCase example = {params, 2, {SR_SHAPE(rows, P), SR_SHAPE(code_rows, P)}, false};
    op_call_init(c, op_named("swav_cross_entropy"), &example, 1, true, 1);
}

static float *numbers(SrTensor t) { return t.data; }

// Equal scores cost log P for any codes: the plateau on which a run starts.
TEST(test_even_scores_cost_log_P) {
    OpCall c;
    start(&c, "{num_crops: 3}", 6, 4, 50);
    for (int i = 0; i < 6 * 50; i++)
        numbers(c.x[0])[i] = 0.7f;
    for (int i = 0; i < 4 * 50; i++)
        numbers(c.x[1])[i] = i % 50 < 10 ? 0.1f : 0;
    op_call_forward(&c);
    CHECK_NEAR(numbers(c.y)[0], log(50), 1e-5);
    op_call_deinit(&c);
}

// With two crops, each crop predicts the code of the other and not its own.
TEST(test_crops_are_swapped) {
    OpCall c;
    start(&c, "{num_crops: 2, temperature: 1}", 2, 2, 2);
    const float scores[] = {0, 3, 1, 0}, codes[] = {1, 0, 0, 1};
    memcpy(c.x[0].data, scores, sizeof scores);
    memcpy(c.x[1].data, codes, sizeof codes);
    op_call_forward(&c);
    double first_on_second = log(1 + exp(-1.0)); // code (1, 0), scores (1, 0)
    double second_on_first = log(1 + exp(-3.0)); // code (0, 1), scores (0, 3)
    CHECK_NEAR(numbers(c.y)[0], (first_on_second + second_on_first) / 2, 1e-6);
    op_call_deinit(&c);
}

TEST(test_large_scores_stay_finite) {
    OpCall c;
    start(&c, "{num_crops: 2, temperature: 0.1}", 2, 2, 3);
    const float scores[] = {1e4f, 0, -1e4f, -1e4f, 1e4f, 9999}, codes[] = {0, 1, 0, 1, 0, 0};
    memcpy(c.x[0].data, scores, sizeof scores);
    memcpy(c.x[1].data, codes, sizeof codes);
    c.dy[0] = 1;
    op_call_forward(&c);
    op_call_backward(&c);
    double loss = numbers(c.y)[0];
    CHECK_NEAR(
        loss, 0,
        1e-3); // crop 1 predicts 1 where code 0 says 1; crop 0 predicts 0 where code 1 says 0
    for (int i = 0; i < 6; i++)
        CHECK(isfinite(c.dx[0][i]));
    op_call_deinit(&c);
}

// The gradient of each row sums to zero, since adding a constant to its scores changes nothing.
TEST(test_gradient_rows_sum_to_zero) {
    OpCall c;
    start(&c, "{num_crops: 4, temperature: 0.2}", 12, 6, 40);
    c.dy[0] = 1;
    op_call_forward(&c);
    op_call_backward(&c);
    for (int r = 0; r < 12; r++) {
        double sum = 0, size = 0;
        for (int k = 0; k < 40; k++) {
            sum += (double)c.dx[0][40 * r + k];
            size += fabs((double)c.dx[0][40 * r + k]);
        }
        CHECK(size > 0);
        CHECK_NEAR(sum, 0, 1e-5 * size);
    }
    op_call_deinit(&c);
}

SR_TESTS(swav_cross_entropy, unit(test_even_scores_cost_log_P), unit(test_crops_are_swapped),
         unit(test_large_scores_stay_finite), unit(test_gradient_rows_sum_to_zero))
