// Tests the op sinkhorn_rows beyond the op contract: the start of the iterations decides the
// result of three of them.
#include "tests/check.h"
#include "tests/kernels/op_call.h"

enum { ROWS = 4, K = 3 };

// Computes targets of scores (ROWS, K) at temperature 0.25. The scores of row 1 are increased by
// `shift`.
static void targets(const char *params, float shift, float *out) {
    const SrOpCase example = {params, 2, {SR_SHAPE(ROWS, K), SR_SCALAR}, false};
    static const float scores[ROWS * K] = {0.5F, -0.25F, 0, 0.75F, 0.5F,  -0.5F,
                                           1,    0.25F,  0, -1,    0.25F, 0.5F};
    OpCall c;
    op_call_init(&c, op_named("sinkhorn_rows"), &example, 1, false, 1);
    float *x = c.x[0].data;
    for (int i = 0; i < ROWS * K; i++)
        x[i] = scores[i] + (i / K == 1 ? shift : 0);
    *(float *)c.x[1].data = 0.25F;
    op_call_forward(&c);
    memcpy(out, c.y.data, ROWS * K * sizeof *out);
    op_call_deinit(&c);
}

// Adding a constant to the scores of a row changes nothing if iterations start from
// probabilities; it does if they start from exponentials.
TEST(test_probabilities_forget_a_row_shift) {
    float plain[ROWS * K], shifted[ROWS * K], largest = 0;
    targets("{probabilities: True}", 0, plain);
    targets("{probabilities: True}", 2, shifted);
    for (int i = 0; i < ROWS * K; i++)
        CHECK_NEAR((double)plain[i], (double)shifted[i], 1e-6);
    targets("{}", 0, plain);
    targets("{}", 2, shifted);
    for (int i = 0; i < ROWS * K; i++)
        largest = fmaxf(largest, fabsf(plain[i] - shifted[i]));
    CHECK(largest > 0.05F);
}

// A row far below all others keeps its own choice, although exp() of its scores is zero.
TEST(test_a_row_of_low_scores_keeps_its_target) {
    float plain[ROWS * K], low[ROWS * K];
    targets("{probabilities: True}", 0, plain);
    targets("{probabilities: True}", -4096, low);
    for (int i = 0; i < ROWS * K; i++)
        CHECK_NEAR((double)plain[i], (double)low[i], 1e-6);
}

// One iteration computed by hand: softmax, columns scaled to equal sums, rows scaled to one.
TEST(test_one_iteration) {
    const double scores[ROWS][K] = {
        {0.5, -0.25, 0}, {0.75, 0.5, -0.5}, {1, 0.25, 0}, {-1, 0.25, 0.5}};
    double p[ROWS][K], column[K] = {0};
    float y[ROWS * K];
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += p[r][k] = exp(scores[r][k] / 0.25);
        for (int k = 0; k < K; k++)
            column[k] += p[r][k] /= sum;
    }
    targets("{probabilities: True, num_iters: 1}", 0, y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += p[r][k] / column[k];
        for (int k = 0; k < K; k++)
            CHECK_NEAR((double)y[r * K + k], p[r][k] / column[k] / sum, 1e-6);
    }
}

SR_TESTS(sinkhorn_rows, unit(test_probabilities_forget_a_row_shift),
         unit(test_a_row_of_low_scores_keeps_its_target), unit(test_one_iteration))
