// Optimisers over parameter groups.  A descriptor `const SrOptimizer sr_optimizer_<stem>` in trainer/optim/<stem>.c.
// Their per-parameter state (momentum, second moments) is part of the checkpoint.
#ifndef SR_TRAINER_OPTIM_OPTIM_H
#define SR_TRAINER_OPTIM_OPTIM_H

#include "base/option.h"
#include "graph/params.h"
#include "trunks/trunk.h"

#define SR_OPTIM_MAX_STATES 4

// OPTIMIZER: what groups, schedules and every optimiser share.
typedef struct {
    const char *name;
    const SrYaml
        *options; // the whole map, out of which the named optimiser reads its own; NULL: defaults
    double weight_decay;
    int num_epochs;
    int accumulation; // gradient_accumulation_steps: rounds of all replicas an update
    bool regularize_bn, regularize_bias, construct_single_param_group_only;
    SrStrings non_regularized_parameters;
    const char *param_group_constructor;
    double layer_decay;              // layer_wise_lr_decay.decay
    const SrYaml *linear_eval_heads; // list of {lr, weight_decay, regularize_bn}
    const SrTrunk *trunk;            // whose layers lr_decay reads; NULL: none that is built
    const void *trunk_params;
    bool head_use_different_lr, head_use_different_wd;
    double head_weight_decay;
    const SrYaml *lr, *lr_head, *weight_decay_schedule,
        *weight_decay_head_schedule; // schedule trees, may be NULL
    SrStrings unread;                // where rows of optimisers are checked, and stay unread
} SrOptimizerConfig;
// The rows of OPTIMIZER, which fill an SrOptimizerConfig (but options and trunk): shared ones, then those of each
// optimiser.  The table lives in the arena.
SrStatus sr_optim_options(SrArena *arena, const SrOption **out);

// VISSL's groups: same rate and same decay; order of parameters is the table's.
typedef struct {
    const char *name; // "trunk regularised", ...
    int n;
    int *params; // table indices
    double weight_decay;
    bool head_lr;     // uses lr_head
    bool regularised; // its decay follows the schedule, if there is one
    double lr_scale;  // times the scheduled rate; 0: 1
} SrParamGroup;
typedef struct {
    int n;
    SrParamGroup
        *groups; // default: the four trunk/head groups always, the remaining ones when not empty
} SrParamGroups;
// OPTIMIZER.param_group_constructor and its own keys, as far as they can be checked without parameters.
SrStatus sr_param_groups_check(const SrOptimizerConfig *config);
SrStatus sr_param_groups(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                         SrParamGroups *out);

// Which norms an update rule wants before it starts.
typedef enum {
    SR_NORMS_NONE,
    SR_NORMS_GRAD,    // ||p|| and ||g||
    SR_NORMS_DECAYED, // ||p|| and ||g + weight_decay * p||
} SrOptimNorms;

// What an update of one parameter sees besides its numbers.
typedef struct {
    const void *params; // the optimiser's own
    double lr, weight_decay;
    int rank;      // of the parameter's shape: 1 for biases and norms
    int64_t steps; // updates this parameter has had before: 0 the first time
    double value_norm,
        grad_norm; // of the whole parameter, where the optimiser's `norms` asks for them; else 0
} SrOptimUpdate;

typedef struct SrOptimizer {
    const char *name; // OPTIMIZER.name
    const char *help;
    const SrOption
        *options; // of the params struct: keys of OPTIMIZER, which other optimisers may have too
    size_t params_bytes;
    // A bool option of its own that changes too much to be ignored: True is refused with an optimiser that does
    // not have it.  NULL: none.
    const char *claims;
    const char *const
        *examples; // flow YAML for the option table, NULL at the end, for the contract tests
    const char *state_names[SR_OPTIM_MAX_STATES]; // "momentum_buffer", "exp_avg", ...
    // How many of them a run with these options keeps, each as large as its parameter.
    int (*n_states)(const void *params);
    SrStatus (*check)(const void *params);     // may be NULL
    SrOptimNorms (*norms)(const void *params); // NULL: none
    // Elements [0, n) of a piece of one parameter: value, grad and state[k] all point to the piece, (n) each.
    // Element by element, so that the bits do not depend on how parameters are cut.  May write grad.
    void (*update)(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state);
} SrOptimizer;

const SrOptimizer *sr_optimizer_at(int i); // NULL past the end
SrStatus sr_optimizer_find(const char *name, const SrOptimizer **out);
// The configured one and its options, unless they exclude each other: what can be said without parameters.
SrStatus sr_optim_check(const SrOptimizerConfig *config, SrArena *arena, const SrOptimizer **kind,
                        const void **params);

typedef struct SrOptim SrOptim;
// Groups by the configured constructor; allocates state for every trainable parameter.  After sr_params_allocate.
SrStatus sr_optim_new(SrParams *params, const SrOptimizerConfig *config, SrOptim **out);
// The same with groups of the caller's (copied).  A trainable parameter in no group is never updated.
SrStatus sr_optim_new_grouped(SrParams *params, const SrOptimizerConfig *config,
                              const SrParamGroups *groups, SrOptim **out);
void sr_optim_free(SrOptim *optim);
const SrParamGroups *sr_optim_groups(const SrOptim *optim);
// Moves the decay of the regularised groups (weight-decay schedules); before a step.
void sr_optim_set_weight_decay(SrOptim *optim, double weight_decay, double head_weight_decay);
// Applies the gradients in the table.  skip[i] true: parameter i is left alone (frozen for now): no decay, no
// momentum, no step counted; skip may be NULL.  lr comes from the schedules.
void sr_optim_step(SrOptim *optim, double lr, double lr_head, const bool *skip);
// The same with one rate a group.
void sr_optim_step_groups(SrOptim *optim, const double *lr, const bool *skip);
// The state of parameter `index`, for checkpoints; NULL past n_states or if not trainable.  name, steps may be NULL.
float *sr_optim_state(SrOptim *optim, int index, int k, const char **name, int64_t **steps);
size_t sr_optim_bytes(const SrOptim *optim); // state, for the memory plan

// MODEL.GRAD_CLIP, as torch.nn.utils.clip_grad_norm_: gradients times min(1, max_norm / (norm + 1e-6)), where norm
// is over all of them together (norm_type INFINITY: the largest absolute value).  Skipped parameters do not count.
// Returns the norm before clipping; a norm that is not finite clips nothing.
double sr_grad_clip(SrParams *params, const bool *skip, double norm_type, double max_norm);

#endif
