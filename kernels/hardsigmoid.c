// hardsigmoid: min(max(x + 3, 0), 6) / 6, torch.nn.Hardsigmoid (MobileNetV3, arXiv:1905.02244).
#include <math.h>

#include "kernels/op_onnx.h"
#include "kernels/pointwise.h"

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++) {
        double x = call->x[0][i];
        call->y[i] = fmin(fmax(x + 3, 0), 6) / 6;
    }
}

static void forward(const SrOpCall *call) {
    sr__pointwise_forward(call, &sr__pointwise()->hardsigmoid);
}

static void backward(const SrOpCall *call) {
    sr__pointwise_backward(call, &sr__pointwise()->hardsigmoid);
}

static SrStatus onnx(SrOnnxCall *call) {
    sr__onnx_begin(call, "HardSigmoid", call->in, 1);
    sr_onnx_float(call->file, "alpha", 1.0f / 6);
    sr_onnx_float(call->file, "beta", 0.5f);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 7, 4)}, false},
    {"{}", 1, {SR_SHAPE(2, 9)}, false},
};

const SrOp sr_op_hardsigmoid = {
    .name = "hardsigmoid",
    .help = "Piecewise linear sigmoid.",
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
