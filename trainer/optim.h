// Optimisers over parameter groups.  A descriptor `const SrOptimizer sr_optimizer_<stem>` in trainer/optim/<stem>.c.
// Their per-parameter state (momentum, second moments) is part of the checkpoint.
#ifndef SR_TRAINER_OPTIM_H
#define SR_TRAINER_OPTIM_H

#include "graph/params.h"
#include "trainer/config.h"
#include "trainer/schedule.h"

// VISSL's groups (spec 8.2): same rate and same decay; order of parameters is the table's.
typedef struct {
    const char *name; // "trunk regularised", ...
    int n;
    int *params;      // table indices
    double weight_decay;
    bool head_lr;     // uses lr_head
} SrParamGroup;
typedef struct {
    int n;
    SrParamGroup *groups; // the four trunk/head groups always, the remaining ones when not empty
} SrParamGroups;
SrStatus sr_param_groups(SrParams *params, const SrOptimizerConfig *config, SrArena *arena, SrParamGroups *out);

typedef struct SrOptimizer {
    const char *name; // OPTIMIZER.name
    const char *help;
    int n_states;               // float blocks as large as the parameter it keeps (sgd 1, adam 2)
    const char *state_names[4]; // "momentum_buffer", "exp_avg", ...
    SrStatus (*check)(const SrOptimizerConfig *config);
    // One parameter's update.  `steps` counts the updates this parameter has had before (0 the first time).
    // Must give the same bits for any number of threads.
    void (*update)(const SrOptimizerConfig *config, double lr, double weight_decay, int64_t n, float *value, float *grad,
                   float *const *state, int64_t steps);
} SrOptimizer;

typedef struct SrOptim SrOptim;
// Allocates state for every trainable parameter.
SrStatus sr_optim_new(SrParams *params, const SrOptimizerConfig *config, SrOptim **out);
void sr_optim_free(SrOptim *optim);
const SrParamGroups *sr_optim_groups(const SrOptim *optim);
// Applies the gradients in the table.  skip[i] true: parameter i is left alone (frozen for now): no decay, no
// momentum, no step counted; skip may be NULL.  lr comes from the schedules.
void sr_optim_step(SrOptim *optim, double lr, double lr_head, const bool *skip);
// The state of parameter `index`, for checkpoints; NULL past n_states or if not trainable.  steps may be NULL.
float *sr_optim_state(SrOptim *optim, int index, int k, const char **name, int64_t **steps);

#endif
