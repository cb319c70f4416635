// Options of OPTIMIZER: rows that all optimisers and the groups share, and those of each optimiser.
#ifndef SR_TRAINER_OPTIM_OPTIM_OPTIONS_H
#define SR_TRAINER_OPTIM_OPTIM_OPTIONS_H

#include "trainer/optim/optimizer.h"
#include "trunks/trunk.h"

// The configuration section OPTIMIZER: keys that groups, schedules and all optimisers share.
typedef struct {
    const char *name;
    // The whole map; the named optimiser reads its own keys from it.  NULL: defaults.
    const SrYaml *options;
    double weight_decay;
    int num_epochs;
    int minutes;      // MINUTES: time for as many epochs as fit; 0: num_epochs as it is
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

// Finds the configured optimiser and parses its options into *params, in the arena.  SR_ERR_CONFIG:
// the name is unknown, or the options exclude each other.
SrStatus sr_optim_check(const SrOptimizerConfig *config, SrArena *arena, const SrOptimizer **kind,
                        const void **params);

#endif
