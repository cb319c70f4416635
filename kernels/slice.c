// slice: rows begin .. begin + count - 1 of the first dimension, one crop of a crop-major batch for
// example.
#include <stddef.h>
#include <string.h>

#include "kernels/op_util.h"
#include "kernels/rows.h"
#include "kernels/slice.h"

static const SrOption options[] = {
    {"begin", SR_OPT_INT, offsetof(SrSliceParams, begin), "0", 0, 0x7fffffff, NULL, "First row."},
    {"count", SR_OPT_INT, offsetof(SrSliceParams, count), "1", 1, 0x7fffffff, NULL,
     "Number of rows."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrSliceParams *p = params;
    SR_TRY(sr__expect_rank("slice", x, n_in, 1, SR_MAX_RANK));
    if (p->begin < 0 || p->count < 1 || p->begin > x[0].d[0] - p->count)
        return sr__shape_fail("slice", x, n_in, "rows %d .. %lld inside the first dimension",
                              p->begin, (long long)p->begin + p->count - 1);
    *y = x[0];
    y->d[0] = p->count;
    return SR_OK;
}

// Numbers in one row of x.
static int64_t row_size(SrShape x) { return sr_shape_count(x) / x.d[0]; }

static void reference(const SrRefCall *call) {
    const SrSliceParams *p = call->params;
    int64_t row = row_size(call->x_shape[0]);
    memcpy(call->y, call->x[0] + p->begin * row, (size_t)(p->count * row) * sizeof(double));
}

static void forward(const SrOpCall *call) {
    const SrSliceParams *p = call->params;
    int64_t row = row_size(call->x[0].shape);
    sr__copy(call->y.data, (const float *)call->x[0].data + p->begin * row, p->count * row);
}

// Adding touches only the slice's rows, so that several slices of one input cost no more than its
// size.
static void backward(const SrOpCall *call) {
    const SrSliceParams *p = call->params;
    int64_t row = row_size(call->x[0].shape), n = p->count * row, end = p->begin * row + n;
    float *dx = call->dx[0]; // (rows of x, row)
    if (!dx)
        return;
    if (call->dx_add & 1) {
        float *to = dx + p->begin * row;
        sr__rows()->add(SR_F32, to, to, call->dy, n);
        return;
    }
    sr__zero(dx, p->begin * row);
    sr__copy(dx + p->begin * row, call->dy, n);
    sr__zero(dx + end, sr_shape_count(call->x[0].shape) - end);
}

static const SrOpCase cases[] = {
    {"{begin: 1, count: 2}", 1, {SR_SHAPE(5, 3)}, false},
    {"{begin: 0, count: 4}", 1, {SR_SHAPE(4, 2, 3, 2)}, false},
    {"{begin: 3, count: 1}", 1, {SR_SHAPE(4, 7)}, false},
};

const SrOp sr_op_slice = {
    .name = "slice",
    .help = "A range of rows of the first dimension.",
    .options = options,
    .params_bytes = sizeof(SrSliceParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_ADDS_DX | SR_OP_CHEAP,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
