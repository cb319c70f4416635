// detach: passes its input on and stops the gradient.
#include "kernels/core/op_util.h"

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(4, 7)}, false},
};

const SrOp sr_op_detach = {
    .name = "detach",
    .help = "The input itself, without gradient.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_NO_GRAD,
    .infer = sr__infer_same,
    .is_view = sr__same_is_view,
    .reference = sr__same_reference,
    .forward = sr__same_forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
