// lars: layer-wise adaptive rates (You et al., "Large batch training of convolutional networks",
// 2017), as in the optimiser of the Barlow Twins repository, which VISSL uses too.  It differs from
// LARC (sgd.c): the norm is that of the decayed gradient, and there is no eps.
//   d = g + wd * p
//   q = eta * ||p|| / ||d|| if both norms > 0, else 1
//   v = mu * v + q * d
//   p = p - lr * v
// exclude_bias_and_norm sets q = 1 for parameters of rank 1.  They still decay;
// regularize_bn=False and regularize_bias=False turn that off.
#include <stddef.h>

#include "base/compiler.h"
#include "trainer/optim/momentum.h"
#include "trainer/optim/optimizer.h"

typedef struct {
    double momentum, eta;
    bool exclude_bias_and_norm;
} Lars;

static const SrOption options[] = {
    {"momentum", SR_OPT_FLOAT, offsetof(Lars, momentum), "0.9", 0, 1, .help = "Momentum, below 1."},
    {"eta", SR_OPT_FLOAT, offsetof(Lars, eta), "0.001", 0, 1e6,
     .help = "Trust coefficient: step length as a share of the parameter's norm."},
    {"exclude_bias_and_norm", SR_OPT_BOOL, offsetof(Lars, exclude_bias_and_norm), "False",
     .help = "Biases and norms keep the global rate: it is not adapted to vectors."},
    SR_OPTION_END,
};

static int n_states(const void *params) {
    (void)params;
    return 1;
}

static SrStatus check(const void *params) {
    return sr__momentum_check("lars", ((const Lars *)params)->momentum, false);
}

static SrOptimNorms norms(const void *params) {
    (void)params;
    return SR_NORMS_DECAYED;
}

static void update(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state) {
    const Lars *c = u->params;
    bool adapt =
        !(c->exclude_bias_and_norm && u->rank == 1) && u->value_norm > 0 && u->grad_norm > 0;
    float q = adapt ? (float)(c->eta * u->value_norm / u->grad_norm) : 1.0f;
    float wd = (float)u->weight_decay, lr = (float)u->lr, mu = (float)c->momentum;
    float *restrict p = value, *restrict v = state[0];
    const float *restrict g = grad;
    SR_SIMD
    for (int64_t i = 0; i < n; i++) {
        v[i] = mu * v[i] + (g[i] + wd * p[i]) * q;
        p[i] -= lr * v[i];
    }
}

static const char *const examples[] = {"{}", "{exclude_bias_and_norm: True, eta: 0.01}", NULL};

const SrOptimizer sr_optimizer_lars = {
    .name = "lars",
    .help = "Layer-wise adaptive rates with momentum (Barlow Twins).",
    .options = options,
    .params_bytes = sizeof(Lars),
    .examples = examples,
    .state_names = {"mu"},
    .n_states = n_states,
    .check = check,
    .norms = norms,
    .update = update,
};
