// adamw: Adam with weight decay that is separate from the gradient (Loshchilov and Hutter,
// "Decoupled weight decay regularization", 2019).  The order of operations is that of
// torch.optim.AdamW.
//   p = p * (1 - lr * wd), then Adam's update with the gradient alone
#include "trainer/optim/moments.h"
#include "trainer/optim/optimizer.h"

static void update(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state) {
    float keep = (float)(1 - u->lr * u->weight_decay);
    float *restrict p = value;
    SR_SIMD
    for (int64_t i = 0; i < n; i++)
        p[i] *= keep;
    sr__moments_update(u, n, value, grad, state);
}

const SrOptimizer sr_optimizer_adamw = {
    .name = "adamw",
    .help = "Adam with decoupled weight decay.",
    .options = sr__moments_options,
    .params_bytes = sizeof(SrMoments),
    .examples = sr__moments_examples,
    .state_names = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
    .n_states = sr__moments_states,
    .check = sr__moments_check,
    .update = update,
};
