// sigmoid: 1 / (1 + exp(-x)), torch.sigmoid.
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/op_onnx.h"

static double value(double x) { return 1 / (1 + exp(-x)); }

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_gate(call, "Sigmoid"); }

SR_POINTWISE_HOOKS(sigmoid)

const SrOp sr_op_sigmoid = {
    .name = "sigmoid",
    .help = "Logistic function.",
    .onnx = onnx,
    SR_POINTWISE_OP,
};
