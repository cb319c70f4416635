// adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015), with L2 decay in the
// gradient and optionally amsgrad (Reddi et al., "On the convergence of Adam and beyond", 2018).
// The order of operations is that of torch.optim.Adam.
//   g = g + wd * p;  m = b1 m + (1 - b1) g;  s = b2 s + (1 - b2) g^2
//   p = p - lr / (1 - b1^t) * m / (sqrt(s) / sqrt(1 - b2^t) + eps)
#include "trainer/optim/moments.h"
#include "trainer/optim/optimizer.h"

// L2 decay goes through both moments here; adamw.c keeps it out of them.
static void update(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state) {
    float wd = (float)u->weight_decay;
    float *restrict g = grad;
    const float *restrict p = value;
    // The plan overwrites gradients in the next step, so the decay may be added in place.
    if (wd != 0) {
        SR_SIMD
        for (int64_t i = 0; i < n; i++)
            g[i] += wd * p[i];
    }
    sr__moments_update(u, n, value, grad, state);
}

const SrOptimizer sr_optimizer_adam = {
    .name = "adam",
    .help = "Adam with weight decay as an L2 term.",
    .options = sr__moments_options,
    .params_bytes = sizeof(SrMoments),
    .examples = sr__moments_examples,
    .state_names = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
    .n_states = sr__moments_states,
    .check = sr__moments_check,
    .update = update,
};
