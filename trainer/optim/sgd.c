// sgd: stochastic gradient descent with momentum as in torch.optim.SGD, optionally with LARC.
//   d = g + wd * p                      (LARC: d = (g + wd * p) * a)
//   v = mu * v + d
//   p = p - lr * v                      (nesterov: p - lr * (d + mu * v))
// LARC (You et al., "Large batch training of convolutional networks", 2017; apex.parallel.LARC):
//   a = trust * ||p|| / (||g|| + wd * ||p|| + eps), with clip: min(a / lr, 1)
//   If one of the norms is 0, the gradient is not changed and there is no decay.
#include <math.h>
#include <stddef.h>

#include "base/compiler.h"
#include "trainer/optim/momentum.h"
#include "trainer/optim/optimizer.h"

typedef struct {
    double momentum;
    bool nesterov, use_larc, clip;
    double trust, eps;
} Sgd;

#define FIELD(f) offsetof(Sgd, f)
static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, FIELD(momentum), "0.9", 0, 1, .help = "Momentum, below 1."},
    {"nesterov", SR_OPT_BOOL, FIELD(nesterov), "False", .help = "Use Nesterov's momentum."},
    {"use_larc", SR_OPT_BOOL, FIELD(use_larc), "False",
     .help = "Adapt the rate to each parameter (LARC)."},
    {"larc_config.clip", SR_OPT_BOOL, FIELD(clip), "False",
     .help = "LARC: the adapted rate never exceeds the global rate."},
    {"larc_config.eps", SR_OPT_FLOAT, FIELD(eps), "1e-8", 0, 1,
     .help = "LARC: number added to the denominator."},
    {"larc_config.trust_coefficient", SR_OPT_FLOAT, FIELD(trust), "0.001", 0, 1e6,
     .help = "LARC: trust coefficient, the step length as a share of the parameter's norm."},
    SR_OPTION_END,
};
#undef FIELD

static int n_states(const void *params) { return ((const Sgd *)params)->momentum > 0 ? 1 : 0; }

static SrStatus check(const void *params) {
    const Sgd *o = params;
    return sr__momentum_check("sgd", o->momentum, o->nesterov);
}

static SrOptimNorms norms(const void *params) {
    return ((const Sgd *)params)->use_larc ? SR_NORMS_GRAD : SR_NORMS_NONE;
}

// Returns the factor on the decayed gradient.  Sets the decay to 0 if LARC leaves a parameter
// alone.
static double larc(const SrOptimUpdate *u, double *weight_decay) {
    const Sgd *c = u->params;
    if (!c->use_larc)
        return 1;
    if (u->value_norm == 0 || u->grad_norm == 0) {
        *weight_decay = 0;
        return 1;
    }
    double a = c->trust * u->value_norm / (u->grad_norm + *weight_decay * u->value_norm + c->eps);
    return c->clip ? fmin(a / u->lr, 1) : a;
}

static void update(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state) {
    const Sgd *o = u->params;
    double decay = u->weight_decay;
    float a = (float)larc(u, &decay);
    float wd = (float)decay, lr = (float)u->lr, mu = (float)o->momentum;
    float *restrict p = value;
    const float *restrict g = grad;
    if (mu == 0) {
        SR_SIMD
        for (int64_t i = 0; i < n; i++)
            p[i] -= lr * ((g[i] + wd * p[i]) * a);
        return;
    }
    // v is zero before the first update, so mu * v + d equals PyTorch's first buffer, d.
    float *restrict v = state[0];
    if (o->nesterov) {
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

static const char *const examples[] = {"{momentum: 0}", "{nesterov: True}",
                                       "{use_larc: True, larc_config: {clip: True}}", NULL};

const SrOptimizer sr_optimizer_sgd = {
    .name = "sgd",
    .help = "SGD with momentum, optionally Nesterov's, optionally with LARC.",
    .options = options,
    .params_bytes = sizeof(Sgd),
    .claims = "use_larc",
    .examples = examples,
    .state_names = {"momentum_buffer"},
    .n_states = n_states,
    .check = check,
    .norms = norms,
    .update = update,
};
