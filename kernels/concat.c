// concat: inputs one after the other along the first dimension (torch.cat(..., dim=0)).
#include <string.h>

#include "kernels/op_util.h"

// y (sum of the first dimensions, ...).
static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    SR_TRY(sr__expect_rank("concat", x, n_in, 1, SR_MAX_RANK));
    *y = x[0];
    for (int i = 1; i < n_in; i++) {
        SrShape other = x[i];
        other.d[0] = x[0].d[0];
        if (!sr_shape_equal(x[0], other))
            return sr__shape_fail("concat", x, n_in, "shapes that agree after the first dimension");
        y->d[0] += x[i].d[0];
    }
    return SR_OK;
}

static void reference(const SrRefCall *call) {
    double *y = call->y;
    for (int i = 0; i < call->n_in; i++) {
        int64_t n = sr_shape_count(call->x_shape[i]);
        memcpy(y, call->x[i], (size_t)n * sizeof(double));
        y += n;
    }
}

// Row-major tensors joined at the first dimension are joined in memory.
static void forward(const SrOpCall *call) {
    float *y = call->y.data; // moves from input to input
    for (int i = 0; i < call->n_in; i++) {
        int64_t n = sr_shape_count(call->x[i].shape);
        sr__copy(y, call->x[i].data, n);
        y += n;
    }
}

// Each input takes its stretch of dy back.
static void backward(const SrOpCall *call) {
    const float *dy = call->dy; // moves likewise
    for (int i = 0; i < call->n_in; i++) {
        int64_t n = sr_shape_count(call->x[i].shape);
        if (call->dx[i])
            sr__copy(call->dx[i], dy, n);
        dy += n;
    }
}

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(2, 3), SR_SHAPE(4, 3)}, false},
    {"{}", 3, {SR_SHAPE(1, 2, 2, 5), SR_SHAPE(3, 2, 2, 5), SR_SHAPE(2, 2, 2, 5)}, false},
    {"{}", 1, {SR_SHAPE(3, 4)}, false},
};

const SrOp sr_op_concat = {
    .name = "concat",
    .help = "Inputs one after the other along the first dimension.",
    .min_in = 1,
    .max_in = SR_OP_MAX_IN,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
