// Three parameters with drawn values and gradients, and settings that all optimisers share, for the
// tests of optimisers.
#ifndef SR_TESTS_TRAINER_OPTIM_CASE_H
#define SR_TESTS_TRAINER_OPTIM_CASE_H

#include "base/text/yaml.h"
#include "trainer/optim/optim.h"

enum { OPTIM_STEPS = 4 };

// The settings of every rule; new_optim makes an option map of them.
typedef struct {
    const char *name, *groups;
    double momentum, weight_decay, beta1, beta2, eps, eta, trust, larc_eps;
    bool nesterov, use_larc, clip, amsgrad, exclude_bias_and_norm, match_rms;
} Usual;
Usual usual(const char *name);

extern SrArena optim_arena; // holds the maps; each test that makes one frees it
SrYaml *options_of(const char *text);
SrStatus new_optim(SrParams *params, const Usual *u, SrOptim **out);

// Returns a matrix, a vector and a long matrix, allocated; the caller frees the table.
SrParams *make_params(void);
float *values_of(SrParams *params, int i);
void fill_values(SrParams *params);
void fill_grads(SrParams *params, int step);

#endif
