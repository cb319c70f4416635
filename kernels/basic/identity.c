// identity: passes its input on and gives the node a second name, as torch.nn.Identity does.
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Identity"); }

static bool inverse(const void *params, void *inverted) {
    (void)params, (void)inverted;
    return true;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(2, 3, 5, 7)}, false},
};

const SrOp sr_op_identity = {
    .name = "identity",
    .help = "The input itself.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = sr__infer_same,
    .is_view = sr__same_is_view,
    .reference = sr__same_reference,
    .forward = sr__same_forward,
    .backward = sr__same_backward,
    .inverse = inverse,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
