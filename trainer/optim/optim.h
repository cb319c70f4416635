// Optimisers over parameter groups.  Each optimiser is a descriptor `const SrOptimizer
// sr_optimizer_<stem>` in trainer/optim/<stem>.c.  Checkpoints contain its state for each
// parameter (momentum, second moments).
#ifndef SR_TRAINER_OPTIM_OPTIM_H
#define SR_TRAINER_OPTIM_OPTIM_H

#include "base/plugin/option.h"
#include "graph/ir/params.h"
#include "trunks/trunk.h"

#define SR_OPTIM_MAX_STATES 4

// The configuration section OPTIMIZER: keys that groups, schedules and all optimisers share.
typedef struct {
    const char *name;
    // The whole map; the named optimiser reads its own keys from it.  NULL: defaults.
    const SrYaml *options;
    double weight_decay;
    int num_epochs;
    int accumulation; // gradient_accumulation_steps: rounds of all replicas per update
    bool regularize_bn, regularize_bias, construct_single_param_group_only;
    SrStrings non_regularized_parameters;
    const char *param_group_constructor;
    double layer_decay;              // layer_wise_lr_decay.decay
    const SrYaml *linear_eval_heads; // list of {lr, weight_decay, regularize_bn}
    const SrTrunk *trunk;            // trunk whose depths lr_decay reads; NULL: none
    const void *trunk_params;
    bool head_use_different_lr, head_use_different_wd;
    double head_weight_decay;
    // Schedules (param_schedulers.*), each a tree or NULL.
    const SrYaml *lr, *lr_head, *weight_decay_schedule, *weight_decay_head_schedule;
    SrStrings unread; // target of the optimisers' own rows: they are checked here and read later
} SrOptimizerConfig;
// Makes the option table of OPTIMIZER in the arena: the shared rows, then those of each
// optimiser.  It fills an SrOptimizerConfig except for options, trunk and trunk_params.
SrStatus sr_optim_options(SrArena *arena, const SrOption **out);

// Parameters with the same rate and the same decay, as in VISSL.
typedef struct {
    const char *name; // "trunk regularised", ...
    int n;
    int *params; // (n) table indices, in the order of the table
    double weight_decay;
    bool head_lr;     // true: the rate is lr_head; false: lr
    bool regularised; // the decay follows the schedule, if there is one
    double lr_scale;  // factor on the scheduled rate; 0: 1
} SrParamGroup;
// The constructor `default` makes four groups of trunk and heads, which may be empty, and up to two
// more for the remaining parameters.
typedef struct {
    int n;
    SrParamGroup *groups; // (n)
} SrParamGroups;
// Checks OPTIMIZER.param_group_constructor and its own keys, as far as that needs no parameters.
SrStatus sr_param_groups_check(const SrOptimizerConfig *config);
// Makes the groups in the arena with the configured constructor.
SrStatus sr_param_groups(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                         SrParamGroups *out);

// Norms that an update rule reads.
typedef enum {
    SR_NORMS_NONE,
    SR_NORMS_GRAD,    // ||p|| and ||g||
    SR_NORMS_DECAYED, // ||p|| and ||g + weight_decay * p||
} SrOptimNorms;

// Input of the update of one parameter, next to its numbers.
typedef struct {
    const void *params; // the optimiser's options
    double lr, weight_decay;
    int rank;      // rank of the parameter's shape: 1 for biases and norms
    int64_t steps; // earlier updates of this parameter; 0: this is the first one
    // Norms of the whole parameter, if the optimiser's `norms` asks for them; else 0.
    double value_norm, grad_norm;
} SrOptimUpdate;

typedef struct SrOptimizer {
    const char *name; // OPTIMIZER.name
    const char *help;
    // Keys of OPTIMIZER that fill the params struct; other optimisers may have the same keys.
    const SrOption *options;
    size_t params_bytes;
    // Name of a bool option that must not be ignored: True is refused with an optimiser that does
    // not have it.  NULL: none.
    const char *claims;
    // Options as flow YAML for the contract tests; NULL ends the list.
    const char *const *examples;
    const char *state_names[SR_OPTIM_MAX_STATES]; // "momentum_buffer", "exp_avg", ...
    // Number of states that a run with these options keeps, each as large as its parameter.
    int (*n_states)(const void *params);
    SrStatus (*check)(const void *params);     // NULL: nothing to check
    SrOptimNorms (*norms)(const void *params); // NULL: SR_NORMS_NONE
    // Updates a piece of one parameter.  value, grad, state[k]: (n) numbers of the piece.  It
    // works element by element, so that the bits do not depend on how parameters are cut.  May
    // write grad.
    void (*update)(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state);
} SrOptimizer;

// Returns optimiser i in name order; NULL past the end.
const SrOptimizer *sr_optimizer_at(int i);
SrStatus sr_optimizer_find(const char *name, const SrOptimizer **out);
// Finds the configured optimiser and parses its options into *params, in the arena.  SR_ERR_CONFIG:
// the name is unknown, or the options exclude each other.
SrStatus sr_optim_check(const SrOptimizerConfig *config, SrArena *arena, const SrOptimizer **kind,
                        const void **params);

typedef struct SrOptim SrOptim;
// Groups the parameters with the configured constructor and allocates state for every parameter
// in a group.  Call it after sr_params_allocate; params and config must outlive *out, which the
// caller frees.
SrStatus sr_optim_new(SrParams *params, const SrOptimizerConfig *config, SrOptim **out);
// Does so with the caller's groups, which are copied.  A trainable parameter in no group is never
// updated.
SrStatus sr_optim_new_grouped(SrParams *params, const SrOptimizerConfig *config,
                              const SrParamGroups *groups, SrOptim **out);
void sr_optim_free(SrOptim *optim);
const SrParamGroups *sr_optim_groups(const SrOptim *optim);
// Sets the decay of the regularised groups, before a step (weight-decay schedules).
void sr_optim_set_weight_decay(SrOptim *optim, double weight_decay, double head_weight_decay);
// Applies the gradients in the table with the rates of the schedules.  skip: one entry per
// parameter of the table, true: the parameter gets no decay, no momentum and no counted step
// (frozen for now).  NULL: none is skipped.
void sr_optim_step(SrOptim *optim, double lr, double lr_head, const bool *skip);
// Does so with one rate for each group; lr_scale is not applied.
void sr_optim_step_groups(SrOptim *optim, const double *lr, const bool *skip);
// Returns state k of parameter `index`, as large as the parameter, for checkpoints.  NULL: k is
// out of range, or the parameter is in no group.  *name: name of the state.  *steps: counter of
// updates, also set if k is out of range.  NULL: not wanted.
float *sr_optim_state(SrOptim *optim, int index, int k, const char **name, int64_t **steps);
size_t sr_optim_bytes(const SrOptim *optim); // bytes of all states, for the memory plan

// Clips gradients as torch.nn.utils.clip_grad_norm_ does (MODEL.GRAD_CLIP): multiplies them by
// min(1, max_norm / (norm + 1e-6)).  The norm is over all gradients together; norm_type INFINITY:
// the largest absolute value.  skip: as in sr_optim_step; skipped parameters do not count.
// Returns the norm before clipping.  A norm that is not finite clips nothing.
double sr_grad_clip(SrParams *params, const bool *skip, double norm_type, double max_norm);

#endif
