// toy_square: y = x^2, the smallest whole op; tests/toy.sh adds it to a copy of the tree.
#include "kernels/core/op_util.h"

static unsigned reads(const void *params) {
    (void)params;
    return SR_READS_X(0);
}

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++)
        call->y[i] = call->x[0][i] * call->x[0][i];
}

static void forward(const SrOpCall *call) {
    const float *x = call->x[0].data; // (n)
    float *y = call->y.data;          // (n)
    for (int64_t i = 0, n = sr_shape_count(call->y.shape); i < n; i++)
        y[i] = x[i] * x[i];
}

static void backward(const SrOpCall *call) {
    const float *x = call->x[0].data; // (n)
    float *dx = call->dx[0];          // (n)
    for (int64_t i = 0, n = sr_shape_count(call->y.shape); dx && i < n; i++)
        dx[i] = 2 * x[i] * call->dy[i];
}

static const SrOpCase cases[] = {{"{}", 1, {SR_SHAPE(3, 11)}, false}};

const SrOp sr_op_toy_square = {
    .name = "toy_square",
    .help = "Each number squared.",
    .min_in = 1,
    .max_in = 1,
    .infer = sr__infer_same,
    .reads = reads,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
