// merge_rows: merges every `count` consecutive rows into one, (N count, C) -> (N, count C): VISSL's
// siamese view, tensor.view(N, -1) of sample-major rows.  Memory does not move.
#include <stddef.h>

#include "kernels/core/op_util.h"
#include "kernels/tokens/merge_rows.h"

static const SrOption options[] = {
    {"count", SR_OPT_INT, offsetof(SrMergeRowsParams, count), "1", 1, 0x7fffffff,
     .help = "Number of rows that are joined into one."},
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
    .is_view = sr__same_is_view,
    .reference = sr__same_reference,
    .forward = sr__same_forward,
    .backward = sr__same_backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
