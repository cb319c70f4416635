// hardswish: x hardsigmoid(x), torch.nn.Hardswish (MobileNetV3, arXiv:1905.02244).
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/op_onnx.h"

static double value(double x) { return x * fmin(fmax(x + 3, 0), 6) / 6; }

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_gated(call, "HardSigmoid"); }

SR_POINTWISE_HOOKS(hardswish)

const SrOp sr_op_hardswish = {
    .name = "hardswish",
    .help = "Piecewise quadratic SiLU.",
    .onnx = onnx,
    .fuses_as = "hardswish",
    SR_POINTWISE_OP,
};
