// gelu: y = x Phi(x) with the exact normal distribution, torch.nn.GELU (Hendrycks and Gimpel 2016).
#include <math.h>

#include "kernels/pointwise.h"
#include "kernels/rows.h"

static double value(double x) { return x * 0.5 * erfc(-x * sqrt(0.5)); }

static void reference(const SrRefCall *call) { sr__pointwise_reference(call, value); }

static void forward(const SrOpCall *call) {
    sr__pointwise_forward(call, &(SrPointwise){.f = sr__rows()->gelu});
}

// The slope depends on x; y = x Phi(x) cannot be inverted (it is not monotone).
static void backward(const SrOpCall *call) {
    sr__pointwise_backward(call, &(SrPointwise){.grad = sr__rows()->gelu_grad});
}

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 5, 7, 4)}, false},
};

const SrOp sr_op_gelu = {
    .name = "gelu",
    .help = "Gaussian error linear unit.",
    SR_POINTWISE_OP,
};
