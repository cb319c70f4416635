// tanh_gelu: y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), torch.nn.GELU with
// approximate="tanh" (Hendrycks and Gimpel, "Gaussian error linear units", arXiv:1606.08415).
// The vector loops use that (1 + tanh u) / 2 is the sigmoid of 2 u.
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/onnx_rows.h"

static double value(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static SrStatus onnx(SrOnnxCall *call) {
    const char *x = call->in[0], *one = sr__onnx_number(call, "one", 1);
    const char *square = sr__onnx_two(call, "square", "Mul", x, x);
    square = sr__onnx_two(call, "share", "Mul", square, sr__onnx_number(call, "cubic", 0.044715));
    square = sr__onnx_two(call, "slope", "Add", square, one);
    const char *u = sr__onnx_two(call, "cube", "Mul", x, square);
    u = sr__onnx_two(call, "scaled", "Mul", u, sr__onnx_number(call, "factor", sqrt(2 / acos(-1))));
    u = sr__onnx_step(call, "tanh", "Tanh", &u, 1);
    u = sr__onnx_two(call, "sum", "Add", u, one);
    const char *twice = sr__onnx_two(call, "twice", "Mul", x, u);
    sr__onnx_begin(call, "Mul", (const char *[]){twice, sr__onnx_number(call, "half", 0.5)}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

SR_POINTWISE_HOOKS(tanh_gelu)

const SrOp sr_op_tanh_gelu = {
    .name = "tanh_gelu",
    .help = "GELU approximated by a hyperbolic tangent.",
    .onnx = onnx,
    SR_POINTWISE_OP,
};
