// add: the sum of inputs of one shape, including scalars (losses).  There is no broadcasting.
#include "kernels/basic/cast.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    (void)params;
    for (int i = 1; i < n_in; i++)
        if (!sr_shape_equal(x[0], x[i]))
            return sr__shape_fail("add", x, n_in, "equal shapes");
    *y = x[0];
    return SR_OK;
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++) {
        call->y[i] = 0;
        for (int j = 0; j < call->n_in; j++)
            call->y[i] += call->x[j][i];
    }
}

// Sums numbers i to i + n - 1; y may be x[0].
static void add_chunk(const SrOpCall *call, int64_t i, int64_t n) {
    SrTensor so_far = call->x[0];
    for (int j = 1; j < call->n_in; j++, so_far = call->y) {
        const SrTensor *x = &call->x[j];
        sr__rows(call->machine)
            ->sum_of(call->y.dtype, sr__at(call->y.dtype, call->y.data, i), so_far.dtype,
                     sr__at(so_far.dtype, so_far.data, i), x->dtype, sr__at(x->dtype, x->data, i),
                     n);
    }
}

// Goes chunk by chunk through all inputs, so that y stays in the nearest cache between two
// additions.
static void forward(const SrOpCall *call) {
    int64_t n = sr_shape_count(call->y.shape);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK)
        add_chunk(call, i, SR_MIN(SR_CHUNK, n - i));
}

// Every input gets the gradient unchanged.  The first dx may be dy itself; the others are copies.
static void backward(const SrOpCall *call) {
    for (int j = 0; j < call->n_in; j++)
        if (call->dx[j])
            sr_cast(call->machine, call->x[j].dtype, call->dx[j], call->y.dtype, call->dy,
                    sr_shape_count(call->y.shape));
}

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Sum"); }

static const SrOpCase cases[] = {
    {"{}", 2, {SR_SHAPE(2, 3, 5, 7), SR_SHAPE(2, 3, 5, 7)}, false},
    {"{}", 3, {SR_SHAPE(4, 6), SR_SHAPE(4, 6), SR_SHAPE(4, 6)}, false},
    {"{}", 2, {{0}, {0}}, false},
};

const SrOp sr_op_add = {
    .name = "add",
    .help = "Sum of two or more inputs of one shape.",
    .min_in = 2,
    .max_in = SR_OP_MAX_IN,
    .flags = SR_OP_CHEAP | SR_OP_BF16 | SR_OP_MIXES,
    .fuses_as = "residual",
    .infer = infer,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
