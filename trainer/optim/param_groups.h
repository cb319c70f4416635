// Parts that the constructors of parameter groups share (param_groups.c, param_groups_named.c).
// All other code uses trainer/optim/optim.h.
#ifndef SR_TRAINER_OPTIM_PARAM_GROUPS_H
#define SR_TRAINER_OPTIM_PARAM_GROUPS_H

#include "trainer/optim/optim.h"

// Fills an empty *out with groups of trainable parameters, in the arena.  A parameter in no group
// is never updated.
typedef SrStatus SrParamGroupConstructor(SrParams *params, const SrOptimizerConfig *config,
                                         SrArena *arena, SrParamGroups *out);
SrParamGroupConstructor sr__param_groups_dino, sr__param_groups_lr_decay,
    sr__param_groups_linear_eval_heads;

// Checks of the constructors' keys that need no parameters.
SrStatus sr__param_groups_lr_decay_check(const SrOptimizerConfig *config);
SrStatus sr__param_groups_heads_check(const SrOptimizerConfig *config);

// Tells whether a parameter belongs to a head, also one of the loss's ("loss.heads.predictor...").
bool sr__is_head_param(const SrParam *p);
// Returns the number of a parameter's group, in an order of the constructor's; -1: no group.
typedef int SrParamGroupOf(const SrParam *p, const SrOptimizerConfig *config);
// Appends a copy of `like` with every trainable parameter for which group_of returns `which`.
SrStatus sr__param_groups_add(SrParams *params, const SrOptimizerConfig *config,
                              SrParamGroupOf *group_of, int which, const SrParamGroup *like,
                              SrArena *arena, SrParamGroups *out);

#endif
