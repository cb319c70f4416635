// reshape: the numbers of an image under other dimensions, torch's tensor.view(N, ...).  A map (N,
// h, w, D) becomes a sequence of tokens (N, h w, D), or back.  Memory does not move.
#include "kernels/basic/reshape.h"

#include <stddef.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrReshapeParams, f)
static const SrOption options[] = {
    {"d1", SR_OPT_INT, FIELD(d1), "1", 1, 0x7fffffff, .help = "Dimension 1 of the result."},
    {"d2", SR_OPT_INT, FIELD(d2), "0", 0, 0x7fffffff, .help = "Dimension 2; 0: none."},
    {"d3", SR_OPT_INT, FIELD(d3), "0", 0, 0x7fffffff, .help = "Dimension 3; 0: none."},
    {"d4", SR_OPT_INT, FIELD(d4), "0", 0, 0x7fffffff, .help = "Dimension 4; 0: none."},
    {"d5", SR_OPT_INT, FIELD(d5), "0", 0, 0x7fffffff, .help = "Dimension 5; 0: none."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrReshapeParams *p = params;
    const int d[] = {p->d1, p->d2, p->d3, p->d4, p->d5, 0};
    int n = 0, after = 0;
    SR_TRY(sr__expect_rank("reshape", x, n_in, 2, SR_MAX_RANK));
    *y = SR_SHAPE(x[0].d[0]);
    while (d[n] > 0)
        y->d[y->rank++] = d[n++];
    for (int i = n; i < SR_COUNT(d); i++)
        after += d[i];
    if (n < 1 || after > 0 || sr_shape_count(*y) != sr_shape_count(x[0]))
        return sr__shape_fail("reshape", x, n_in,
                              "as many values per image as the shape [%d, %d, %d, %d, %d] has",
                              d[0], d[1], d[2], d[3], d[4]);
    return SR_OK;
}

static SrStatus onnx(SrOnnxCall *call) {
    int64_t dims[SR_MAX_RANK] = {0};
    for (int i = 1; i < call->y.rank; i++)
        dims[i] = call->y.d[i];
    return sr__onnx_finish(
        call, sr__onnx_reshape(call, "tokens", sr__onnx_rows(call, 0), dims, call->y.rank));
}

static const SrOpCase cases[] = {
    {"{d1: 6, d2: 5}", 1, {SR_SHAPE(2, 2, 3, 5)}, false},
    {"{d1: 2, d2: 2, d3: 3}", 1, {SR_SHAPE(3, 4, 3)}, false},
    {"{d1: 8}", 1, {SR_SHAPE(2, 2, 4)}, false},
    {"{d1: 2, d2: 1, d3: 2, d4: 2, d5: 3}", 1, {SR_SHAPE(2, 2, 4, 3)}, false},
};

const SrOp sr_op_reshape = {
    .name = "reshape",
    .help = "Gives the values of an image other dimensions.",
    .options = options,
    .params_bytes = sizeof(SrReshapeParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .is_view = sr__same_is_view,
    .reference = sr__same_reference,
    .forward = sr__same_forward,
    .backward = sr__same_backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
