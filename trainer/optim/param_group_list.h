// Groups of parameters that have one rate and one decay, and how constructors add groups to a list.
#ifndef SR_TRAINER_OPTIM_PARAM_GROUP_LIST_H
#define SR_TRAINER_OPTIM_PARAM_GROUP_LIST_H

#include "graph/ir/params.h"
#include "trainer/optim/optim_options.h"

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

// ---- for the constructors
// Tells whether a parameter belongs to a head, also one of the loss's ("loss.heads.predictor...").
bool sr__is_head_param(const SrParam *p);
// Returns the number of a parameter's group, in an order of the constructor's; -1: no group.
typedef int SrParamGroupOf(const SrParam *p, const SrOptimizerConfig *config);
// Appends a copy of `like` with every trainable parameter for which group_of returns `which`.
SrStatus sr__param_groups_add(SrParams *params, const SrOptimizerConfig *config,
                              SrParamGroupOf *group_of, int which, const SrParamGroup *like,
                              SrArena *arena, SrParamGroups *out);

#endif
