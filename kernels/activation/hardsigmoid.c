// hardsigmoid: min(max(x + 3, 0), 6) / 6, torch.nn.Hardsigmoid (MobileNetV3, arXiv:1905.02244).
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/op_onnx.h"

static double value(double x) { return fmin(fmax(x + 3, 0), 6) / 6; }

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_gate(call, "HardSigmoid"); }

SR_POINTWISE_HOOKS(hardsigmoid)

const SrOp sr_op_hardsigmoid = {
    .name = "hardsigmoid",
    .help = "Piecewise linear sigmoid.",
    .onnx = onnx,
    SR_POINTWISE_OP,
};
