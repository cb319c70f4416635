// Running moments of the gradient (see moments.h).  Not an optimiser by itself: adam.c and adamw.c
// differ in where the weight decay goes.
#include "trainer/optim/moments.h"

#include <math.h>

int sr__moments_states(const SrOptimizerConfig *config) { return config->amsgrad ? 3 : 2; }

SrStatus sr__moments_check(const SrOptimizerConfig *config) {
    const SrDoubles *b = &config->betas;
    if (b->n != 2 || !(b->v[0] >= 0 && b->v[0] < 1) || !(b->v[1] >= 0 && b->v[1] < 1))
        return sr_fail(SR_ERR_CONFIG,
                       "OPTIMIZER.betas must be two numbers in [0, 1), as in [0.9, 0.999]");
    return SR_OK;
}

void sr__moments_update(const SrOptimUpdate *u, int64_t n, float *value, const float *grad,
                        float *const *state) {
    double beta1 = u->config->betas.v[0], beta2 = u->config->betas.v[1];
    // Bias corrections in double, as Python computes them; the arrays see floats, as PyTorch's do.
    double t = (double)(u->steps + 1);
    float b1 = (float)beta1, c1 = (float)(1 - beta1), b2 = (float)beta2, c2 = (float)(1 - beta2);
    float step = (float)(u->lr / (1 - pow(beta1, t)));
    float correction = (float)sqrt(1 - pow(beta2, t)), eps = (float)u->config->eps;
    // Denominator in PyTorch's order: the root first, then the correction, then eps.
    float *restrict p = value, *restrict m = state[0], *restrict s = state[1];
    const float *restrict g = grad;
    SR_SIMD
    for (int64_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + c1 * g[i];
        s[i] = b2 * s[i] + c2 * (g[i] * g[i]);
    }
    const float *restrict second = s;
    if (u->config->amsgrad) {
        float *restrict most = state[2];
        SR_SIMD
        for (int64_t i = 0; i < n; i++)
            most[i] = most[i] > s[i] ? most[i] : s[i];
        second = most;
    }
    SR_SIMD
    for (int64_t i = 0; i < n; i++)
        p[i] -= step * (m[i] / (sqrtf(second[i]) / correction + eps));
}
