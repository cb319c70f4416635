// sgd: stochastic gradient descent with momentum as PyTorch has it (torch.optim.SGD), optionally
// with LARC.
//   d = g + wd * p                      (LARC: d = (g + wd * p) * a)
//   v = mu * v + d
//   p = p - lr * v                      (nesterov: p - lr * (d + mu * v))
// LARC (You et al., "Large batch training of convolutional networks", 2017, as apex.parallel.LARC
// has it):
//   a = trust * ||p|| / (||g|| + wd * ||p|| + eps), clip: min(a / lr, 1)
//   If either norm is 0 the gradient stays as it is and there is no decay either.
#include <math.h>

#include "base/compiler.h"
#include "trainer/optim/optim.h"

static int n_states(const SrOptimizerConfig *config) { return config->momentum > 0 ? 1 : 0; }

static SrStatus check(const SrOptimizerConfig *config) {
    if (!(config->momentum >= 0 && config->momentum < 1))
        return sr_fail(SR_ERR_CONFIG, "OPTIMIZER.momentum is %g, sgd needs 0 <= momentum < 1",
                       config->momentum);
    if (config->nesterov && config->momentum == 0)
        return sr_fail(SR_ERR_CONFIG, "OPTIMIZER.nesterov=True needs OPTIMIZER.momentum above 0");
    return SR_OK;
}

static SrOptimNorms norms(const SrOptimizerConfig *config) {
    return config->use_larc ? SR_NORMS_GRAD : SR_NORMS_NONE;
}

// The factor on the decayed gradient; changes the decay where LARC leaves a parameter alone.
static double larc(const SrOptimUpdate *u, double *weight_decay) {
    const SrOptimizerConfig *c = u->config;
    if (!c->use_larc)
        return 1;
    if (u->value_norm == 0 || u->grad_norm == 0) {
        *weight_decay = 0;
        return 1;
    }
    double a = c->larc_trust * u->value_norm /
               (u->grad_norm + *weight_decay * u->value_norm + c->larc_eps);
    return c->larc_clip ? fmin(a / u->lr, 1) : a;
}

static void update(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state) {
    double decay = u->weight_decay;
    float a = (float)larc(u, &decay);
    float wd = (float)decay, lr = (float)u->lr, mu = (float)u->config->momentum;
    float *restrict p = value;
    const float *restrict g = grad;
    if (mu == 0) {
        SR_SIMD
        for (int64_t i = 0; i < n; i++)
            p[i] -= lr * ((g[i] + wd * p[i]) * a);
        return;
    }
    // v is zero before the first update, so mu * v + d is PyTorch's "first buffer = d" without a
    // branch.
    float *restrict v = state[0];
    if (u->config->nesterov) {
        SR_SIMD
        for (int64_t i = 0; i < n; i++) {
            float d = (g[i] + wd * p[i]) * a;
            v[i] = mu * v[i] + d;
            p[i] -= lr * (d + mu * v[i]);
        }
        return;
    }
    SR_SIMD
    for (int64_t i = 0; i < n; i++) {
        v[i] = mu * v[i] + (g[i] + wd * p[i]) * a;
        p[i] -= lr * v[i];
    }
}

const SrOptimizer sr_optimizer_sgd = {
    .name = "sgd",
    .help = "SGD with momentum, optionally Nesterov's, optionally with LARC.",
    .state_names = {"momentum_buffer"},
    .n_states = n_states,
    .check = check,
    .norms = norms,
    .update = update,
};
