// Running moments of the gradient, for adam.c and adamw.c, which treat weight decay differently.
#include "trainer/optim/moments.h"

#include <math.h>
#include <stddef.h>

#include "trainer/optim/optimizer.h"

const SrOption sr__moments_options[] = {
    {"betas", SR_OPT_FLOATS, offsetof(SrMoments, betas), "[0.9, 0.999]", 0, 1,
     .help = "Decay rates of the first and second moment."},
    {"eps", SR_OPT_FLOAT, offsetof(SrMoments, eps), "1e-8", 0, 1,
     .help = "Number added to the denominator."},
    {"amsgrad", SR_OPT_BOOL, offsetof(SrMoments, amsgrad), "False",
     .help = "Use the largest second moment so far."},
    SR_OPTION_END,
};
const char *const sr__moments_examples[] = {"{}", "{amsgrad: True, betas: [0.8, 0.99]}", NULL};

int sr__moments_states(const void *params) { return ((const SrMoments *)params)->amsgrad ? 3 : 2; }

SrStatus sr__moments_check(const void *params) {
    const SrDoubles *b = &((const SrMoments *)params)->betas;
    if (b->n != 2 || !(b->v[0] >= 0 && b->v[0] < 1) || !(b->v[1] >= 0 && b->v[1] < 1))
        SR_FAIL(SR_ERR_CONFIG, "OPTIMIZER.betas must be two numbers in [0, 1), as in [0.9, 0.999]");
    return SR_OK;
}

void sr__moments_update(const SrOptimUpdate *u, int64_t n, float *value, const float *grad,
                        float *const *state) {
    const SrMoments *o = u->params;
    double beta1 = o->betas.v[0], beta2 = o->betas.v[1];
    // Bias corrections are double, as in Python; arrays are float, as in PyTorch.
    double t = (double)(u->steps + 1);
    float b1 = (float)beta1, c1 = (float)(1 - beta1), b2 = (float)beta2, c2 = (float)(1 - beta2);
    float step = (float)(u->lr / (1 - pow(beta1, t)));
    float correction = (float)sqrt(1 - pow(beta2, t)), eps = (float)o->eps;
    // The denominator has PyTorch's order: the root first, then the correction, then eps.
    float *restrict p = value, *restrict m = state[0], *restrict s = state[1];
    const float *restrict g = grad;
    SR_SIMD
    for (int64_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + c1 * g[i];
        s[i] = b2 * s[i] + c2 * (g[i] * g[i]);
    }
    const float *restrict second = s;
    if (o->amsgrad) {
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
