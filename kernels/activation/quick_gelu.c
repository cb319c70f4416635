// quick_gelu: y = x sigmoid(1.702 x), the approximation of GELU that CLIP's models were trained
// with (Hendrycks and Gimpel, "Gaussian error linear units", arXiv:1606.08415, section 2).
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/onnx_rows.h"

static double value(double x) { return x / (1 + exp(-1.702 * x)); }

static SrStatus onnx(SrOnnxCall *call) {
    const char *factor = sr__onnx_number(call, "factor", 1.702);
    const char *scaled = sr__onnx_two(call, "scaled", "Mul", call->in[0], factor);
    const char *gate = sr__onnx_step(call, "gate", "Sigmoid", &scaled, 1);
    sr__onnx_begin(call, "Mul", (const char *[]){call->in[0], gate}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

SR_POINTWISE_HOOKS(quick_gelu)

const SrOp sr_op_quick_gelu = {
    .name = "quick_gelu",
    .help = "CLIP's approximation of GELU by a sigmoid.",
    .onnx = onnx,
    SR_POINTWISE_OP,
};
