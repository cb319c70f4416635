// sigmoid: 1 / (1 + exp(-x)), torch.sigmoid.
#include <math.h>

#include "kernels/op_onnx.h"
#include "kernels/pointwise.h"

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++) {
        double x = call->x[0][i];
        call->y[i] = 1 / (1 + exp(-x));
    }
}

static void forward(const SrOpCall *call) {
    sr__pointwise_forward(call, &sr__pointwise()->sigmoid);
}

static void backward(const SrOpCall *call) {
    sr__pointwise_backward(call, &sr__pointwise()->sigmoid);
}

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Sigmoid"); }

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 7, 4)}, false},
    {"{}", 1, {SR_SHAPE(2, 9)}, false},
};

const SrOp sr_op_sigmoid = {
    .name = "sigmoid",
    .help = "Logistic function.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = sr__infer_same,
    .reads = sr__pointwise_reads,
    .inplace = sr__pointwise_inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
