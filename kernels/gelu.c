// gelu: y = x Phi(x) with the exact normal distribution, torch.nn.GELU (Hendrycks and Gimpel 2016).
#include <math.h>

#include "kernels/pointwise.h"

static double value(double x) { return x * 0.5 * erfc(-x * sqrt(0.5)); }

SR_POINTWISE_HOOKS(gelu)

const SrOp sr_op_gelu = {
    .name = "gelu",
    .help = "Gaussian error linear unit.",
    SR_POINTWISE_OP,
};
