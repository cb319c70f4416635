// silu: x sigmoid(x), torch.nn.SiLU, also called swish (Ramachandran et al. 2017).
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/op_onnx.h"

static double value(double x) { return x / (1 + exp(-x)); }

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_gated(call, "Sigmoid"); }

SR_POINTWISE_HOOKS(silu)

const SrOp sr_op_silu = {
    .name = "silu",
    .help = "Sigmoid-weighted linear unit.",
    .onnx = onnx,
    .fuses_as = "silu",
    SR_POINTWISE_OP,
};
