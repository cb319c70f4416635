// reshape: the numbers of an image under other dimensions, torch's tensor.view(N, ...): a map (N, h, w, D) is a
// sequence of tokens (N, h w, D) and the other way round.  Memory does not move.
#include "kernels/reshape.h"

#include <stddef.h>
#include <string.h>

#include "kernels/op_util.h"

#define FIELD(f) offsetof(SrReshapeParams, f)
static const SrOption options[] = {
    {"d1", SR_OPT_INT, FIELD(d1), "1", 1, 0x7fffffff, NULL, "Dimension 1 of the result."},
    {"d2", SR_OPT_INT, FIELD(d2), "0", 0, 0x7fffffff, NULL, "Dimension 2; 0: none."},
    {"d3", SR_OPT_INT, FIELD(d3), "0", 0, 0x7fffffff, NULL, "Dimension 3; 0: none."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrReshapeParams *p = params;
    SR_TRY(sr__expect_rank("reshape", x, n_in, 2, 4));
    *y = p->d3 > 0   ? SR_SHAPE(x[0].d[0], p->d1, p->d2, p->d3)
         : p->d2 > 0 ? SR_SHAPE(x[0].d[0], p->d1, p->d2)
                     : SR_SHAPE(x[0].d[0], p->d1);
    if (p->d1 < 1 || (p->d3 > 0 && p->d2 < 1) || sr_shape_count(*y) != sr_shape_count(x[0]))
        return sr__shape_fail("reshape", x, n_in, "as many numbers an image as [%d, %d, %d] has",
                              p->d1, p->d2, p->d3);
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
    {"{d1: 6, d2: 5}", 1, {SR_SHAPE(2, 2, 3, 5)}, false},
    {"{d1: 2, d2: 2, d3: 3}", 1, {SR_SHAPE(3, 4, 3)}, false},
    {"{d1: 8}", 1, {SR_SHAPE(2, 2, 4)}, false},
};

const SrOp sr_op_reshape = {
    .name = "reshape",
    .help = "An image's numbers under other dimensions.",
    .options = options,
    .params_bytes = sizeof(SrReshapeParams),
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
