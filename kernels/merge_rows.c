// merge_rows: every `count` consecutive rows become one, (N count, C) -> (N, count C): VISSL's
// siamese view, tensor.view(N, -1) of sample-major rows.  Memory does not move.
#include <stddef.h>
#include <string.h>

#include "kernels/merge_rows.h"
#include "kernels/op_util.h"

static const SrOption options[] = {
    {"count", SR_OPT_INT, offsetof(SrMergeRowsParams, count), "1", 1, 0x7fffffff, NULL,
     "Rows that become one."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrMergeRowsParams *p = params;
    SR_TRY(sr__expect_rank("merge_rows", x, n_in, 2, 2));
    if (p->count < 1 || x[0].d[0] % p->count != 0)
        return sr__shape_fail("merge_rows", x, n_in, "a number of rows divisible by %d", p->count);
    *y = SR_SHAPE(x[0].d[0] / p->count, p->count * x[0].d[1]);
    return SR_OK;
}

static bool is_view(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)x, (void)n_in;
    return true;
}

static void reference(const SrRefCall *call) {
    memcpy(call->y, call->x[0], (size_t)sr_shape_count(call->y_shape) * sizeof(double));
}

// Only called where the two sides could not share memory.
static void forward(const SrOpCall *call) {
    sr__copy(call->y.data, call->x[0].data, sr_shape_count(call->y.shape));
}

static void backward(const SrOpCall *call) {
    if (call->dx[0])
        sr__copy(call->dx[0], call->dy, sr_shape_count(call->y.shape));
}

static const SrOpCase cases[] = {
    {"{count: 3}", 1, {SR_SHAPE(6, 5)}, false},
    {"{count: 1}", 1, {SR_SHAPE(4, 2)}, false},
};

const SrOp sr_op_merge_rows = {
    .name = "merge_rows",
    .help = "Consecutive rows joined into one.",
    .options = options,
    .params_bytes = sizeof(SrMergeRowsParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .is_view = is_view,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
