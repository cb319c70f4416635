// gelu: y = x Phi(x) with the exact normal distribution, torch.nn.GELU (Hendrycks and Gimpel 2016).
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/onnx_rows.h"

static double value(double x) { return x * 0.5 * erfc(-x * sqrt(0.5)); }

// Writes the five nodes that torch exports, which programs recognise as one.
static SrStatus onnx(SrOnnxCall *call) {
    const char *root = sr__onnx_number(call, "root", sqrt(2));
    const char *part = sr__onnx_two(call, "part", "Div", call->in[0], root);
    const char *erf = sr__onnx_step(call, "erf", "Erf", &part, 1);
    const char *sum = sr__onnx_two(call, "sum", "Add", erf, sr__onnx_number(call, "one", 1));
    const char *twice = sr__onnx_two(call, "twice", "Mul", call->in[0], sum);
    sr__onnx_begin(call, "Mul", (const char *[]){twice, sr__onnx_number(call, "half", 0.5)}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

SR_POINTWISE_HOOKS(gelu)

const SrOp sr_op_gelu = {
    .name = "gelu",
    .help = "Gaussian error linear unit.",
    .onnx = onnx,
    .fuses_as = "gelu",
    SR_POINTWISE_OP,
};
