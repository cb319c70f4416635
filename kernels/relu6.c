// relu6: min(max(x, 0), 6), torch.nn.ReLU6 (MobileNets, arXiv:1704.04861).
#include <math.h>

#include "kernels/op_onnx.h"
#include "kernels/pointwise.h"

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++) {
        double x = call->x[0][i];
        call->y[i] = fmin(fmax(x, 0), 6);
    }
}

static void forward(const SrOpCall *call) { sr__pointwise_forward(call, &sr__pointwise()->relu6); }

static void backward(const SrOpCall *call) {
    sr__pointwise_backward(call, &sr__pointwise()->relu6);
}

static SrStatus onnx(SrOnnxCall *call) {
    static const float bounds[2] = {0, 6};
    const char *low = sr__onnx_inner(call, "low"), *high = sr__onnx_inner(call, "high");
    sr_onnx_weight(call->file, low, (SrTensor){SR_SHAPE(1), SR_F32, (void *)&bounds[0]});
    sr_onnx_weight(call->file, high, (SrTensor){SR_SHAPE(1), SR_F32, (void *)&bounds[1]});
    const char *floor = sr__onnx_inner(call, "floor");
    sr_onnx_node(call->file, "Max", (const char *[]){call->in[0], low}, 2, floor);
    sr_onnx_end(call->file);
    sr__onnx_begin(call, "Min", (const char *[]){floor, high}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 7, 4)}, false},
    {"{}", 1, {SR_SHAPE(2, 9)}, false},
};

const SrOp sr_op_relu6 = {
    .name = "relu6",
    .help = "Rectifier cut off at 6.",
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
