// identity: the input itself; gives a node a second name, as torch.nn.Identity does.
#include <string.h>

#include "kernels/op_onnx.h"
#include "kernels/op_util.h"

static bool is_view(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)x, (void)n_in;
    return true;
}

static void reference(const SrRefCall *call) {
    memcpy(call->y, call->x[0], (size_t)sr_shape_count(call->y_shape) * sizeof(double));
}

static void forward(const SrOpCall *call) {
    sr__copy(call->y.data, call->x[0].data, sr_shape_count(call->y.shape));
}

static void backward(const SrOpCall *call) {
    if (call->dx[0])
        sr__copy(call->dx[0], call->dy, sr_shape_count(call->y.shape));
}

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
    .is_view = is_view,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .inverse = inverse,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
