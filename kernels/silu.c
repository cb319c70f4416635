// silu: x sigmoid(x), torch.nn.SiLU, also called swish (Ramachandran et al. 2017).
#include <math.h>

#include "kernels/op_onnx.h"
#include "kernels/pointwise.h"

static void reference(const SrRefCall *call) {
    for (int64_t i = 0, n = sr_shape_count(call->y_shape); i < n; i++) {
        double x = call->x[0][i];
        call->y[i] = x / (1 + exp(-x));
    }
}

static void forward(const SrOpCall *call) { sr__pointwise_forward(call, &sr__pointwise()->silu); }

static void backward(const SrOpCall *call) { sr__pointwise_backward(call, &sr__pointwise()->silu); }

// x times its sigmoid: ONNX has no node of its own for it.
static SrStatus onnx(SrOnnxCall *call) {
    const char *sigmoid = sr__onnx_inner(call, "sigmoid");
    sr_onnx_node(call->file, "Sigmoid", call->in, 1, sigmoid);
    sr_onnx_end(call->file);
    sr__onnx_begin(call, "Mul", (const char *[]){call->in[0], sigmoid}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 7, 4)}, false},
    {"{}", 1, {SR_SHAPE(2, 9)}, false},
};

const SrOp sr_op_silu = {
    .name = "silu",
    .help = "Sigmoid-weighted linear unit.",
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
