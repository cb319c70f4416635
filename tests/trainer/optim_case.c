#include "tests/trainer/optim_case.h"

#include "base/rng.h"
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trainer/optim/optim_options.h"

static const SrSlot matrix_slot = {.name = "weight",
                                   .shape = {.rank = 2, .d = {37, 29}},
                                   .dtype = SR_F32,
                                   .kind = SR_SLOT_PARAM,
                                   .role = SR_ROLE_WEIGHT,
                                   .init = {SR_INIT_CONSTANT, 0}};
static const SrSlot vector_slot = {.name = "bias",
                                   .shape = {.rank = 1, .d = {33}},
                                   .dtype = SR_F32,
                                   .kind = SR_SLOT_PARAM,
                                   .role = SR_ROLE_BIAS,
                                   .init = {SR_INIT_CONSTANT, 0}};
// More numbers than one piece of a step has, and no round number.
static const SrSlot long_slot = {.name = "weight",
                                 .shape = {.rank = 2, .d = {211, 307}},
                                 .dtype = SR_F32,
                                 .kind = SR_SLOT_PARAM,
                                 .role = SR_ROLE_WEIGHT,
                                 .init = {SR_INIT_CONSTANT, 0}};

Usual usual(const char *name) {
    return (Usual){.name = name,
                   .groups = "default",
                   .momentum = 0.9,
                   .weight_decay = 0.01,
                   .beta1 = 0.9,
                   .beta2 = 0.99,
                   .eps = 1e-8,
                   .eta = 0.01,
                   .trust = 0.02,
                   .larc_eps = 1e-8};
}

SrArena optim_arena;
SrYaml *options_of(const char *text) {
    SrYaml *map = NULL;
    CHECK_OK(sr_yaml_parse(&optim_arena, text, strlen(text), "test.yaml", &map));
    return map;
}

static const char *yes(bool on) { return on ? "True" : "False"; }

SrStatus new_optim(SrParams *params, const Usual *u, SrOptim **out) {
    static char text[1024];
    static SrOptimizerConfig config;
    snprintf(text, sizeof text,
             "{momentum: %g, nesterov: %s, betas: [%g, %g], eps: %g, amsgrad: %s, eta: %g, "
             "exclude_bias_and_norm: %s, use_larc: %s, "
             "larc_config: {clip: %s, eps: %g, trust_coefficient: %g}, adjust_lr_fn: %s}",
             u->momentum, yes(u->nesterov), u->beta1, u->beta2, u->eps, yes(u->amsgrad), u->eta,
             yes(u->exclude_bias_and_norm), yes(u->use_larc), yes(u->clip), u->larc_eps, u->trust,
             u->match_rms ? "match_rms_adamw" : "original");
    config = (SrOptimizerConfig){.name = u->name,
                                 .options = options_of(text),
                                 .weight_decay = u->weight_decay,
                                 .regularize_bias = true,
                                 .param_group_constructor = u->groups};
    return sr_optim_new(params, &config, out);
}

SrParams *make_params(void) {
    SrParams *params = NULL;
    int index = 0;
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_params_add(params, "trunk.fc.weight", &matrix_slot, &index));
    CHECK_OK(sr_params_add(params, "trunk.fc.bias", &vector_slot, &index));
    CHECK_OK(sr_params_add(params, "heads.0.weight", &long_slot, &index));
    CHECK_OK(sr_params_allocate(params));
    return params;
}

float *values_of(SrParams *params, int i) { return sr_params_at(params, i)->value; }

static void fill(float *x, int64_t n, uint64_t what, uint64_t step) {
    SrRng rng = sr_rng(1, SR_RNG_TEST, step, what, 0, 0);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)sr_rng_normal(&rng);
}

void fill_values(SrParams *params) {
    for (int i = 0; i < sr_params_count(params); i++)
        fill(sr_params_at(params, i)->value, sr_shape_count(sr_params_at(params, i)->shape),
             (uint64_t)i, 100);
}

void fill_grads(SrParams *params, int step) {
    for (int i = 0; i < sr_params_count(params); i++)
        fill(sr_params_at(params, i)->grad, sr_shape_count(sr_params_at(params, i)->shape),
             (uint64_t)i, (uint64_t)step);
}
