// Gradient clipping by the norm over all gradients together (Pascanu et al., "On the difficulty of
// training recurrent neural networks", 2013, as torch.nn.utils.clip_grad_norm_ has it).
#include <math.h>

#include "base/compiler.h"
#include "trainer/optim.h"

// Sum of |x|^power in double, in element order; power INFINITY: the largest |x|.
static double accumulate(double total, const float *x, int64_t n, double power) // (n)
{
    if (isinf(power)) {
        for (int64_t i = 0; i < n; i++)
            total = isnan(x[i]) ? NAN : fmax(total, fabs((double)x[i]));
        return total;
    }
    if (power == 2) {
        for (int64_t i = 0; i < n; i++)
            total += (double)x[i] * x[i];
        return total;
    }
    for (int64_t i = 0; i < n; i++)
        total += pow(fabs((double)x[i]), power);
    return total;
}

double sr_grad_clip(SrParams *params, const bool *skip, double norm_type, double max_norm) {
    double total = 0;
    int count = sr_params_count(params);
    for (int i = 0; i < count; i++) {
        const SrParam *p = sr_params_at(params, i);
        if (p->trainable && p->grad && !(skip && skip[i]) && !isnan(total))
            total = accumulate(total, p->grad, sr_shape_count(p->shape), norm_type);
    }
    double norm = isinf(norm_type) ? total : pow(total, 1 / norm_type);
    double factor = max_norm / (norm + 1e-6);
    if (!isfinite(norm) || factor >= 1)
        return norm;
    for (int i = 0; i < count; i++) {
        const SrParam *p = sr_params_at(params, i);
        if (!p->trainable || !p->grad || (skip && skip[i]))
            continue;
        float *restrict g = p->grad;
        int64_t n = sr_shape_count(p->shape);
        SR_SIMD
        for (int64_t k = 0; k < n; k++)
            g[k] *= (float)factor;
    }
    return norm;
}
