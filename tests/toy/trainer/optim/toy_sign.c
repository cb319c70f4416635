// toy_sign: p = p - scale lr sign(g); tests/toy.sh adds it to a copy of the tree.
#include <stddef.h>

#include "trainer/optim/optimizer.h"

typedef struct {
    double scale;
} Toy;

static const SrOption options[] = {
    {"toy_scale", SR_OPT_FLOAT, offsetof(Toy, scale), "0.1", 0, 1e3, .help = "Factor on the rate."},
    SR_OPTION_END,
};

static int n_states(const void *params) {
    (void)params;
    return 0;
}

static void update(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state) {
    (void)state;
    float step = (float)(u->lr * ((const Toy *)u->params)->scale);
    for (int64_t i = 0; i < n; i++)
        value[i] -= step * (float)((grad[i] > 0) - (grad[i] < 0));
}

static const char *const examples[] = {"{}", NULL};

const SrOptimizer sr_optimizer_toy_sign = {
    .name = "toy_sign",
    .help = "Steps of one length.",
    .options = options,
    .params_bytes = sizeof(Toy),
    .examples = examples,
    .n_states = n_states,
    .update = update,
};
