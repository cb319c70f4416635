// What the constructors of parameter groups share (param_groups.c, param_groups_named.c); everybody else uses
// trainer/optim/optim.h.
#ifndef SR_TRAINER_OPTIM_PARAM_GROUPS_H
#define SR_TRAINER_OPTIM_PARAM_GROUPS_H

#include "trainer/optim/optim.h"

// Fills an empty *out.  Trainable parameters only; one in no group is never updated.
typedef SrStatus SrParamGroupConstructor(SrParams *params, const SrOptimizerConfig *config,
                                         SrArena *arena, SrParamGroups *out);
SrParamGroupConstructor sr__param_groups_dino, sr__param_groups_lr_decay,
    sr__param_groups_linear_eval_heads;

// What can be said without parameters.
SrStatus sr__param_groups_lr_decay_check(const SrOptimizerConfig *config);
SrStatus sr__param_groups_heads_check(const SrOptimizerConfig *config);

// A head of the model, or one that the loss owns ("loss.heads.predictor...").
bool sr__is_head_param(const SrParam *p);
// Which of a constructor's groups a parameter belongs to.
typedef int SrParamGroupOf(const SrParam *p, const SrOptimizerConfig *config);
// Appends a group like `like`, with every trainable parameter for which group_of gives `which`.
SrStatus sr__param_groups_add(SrParams *params, const SrOptimizerConfig *config,
                              SrParamGroupOf *group_of, int which, const SrParamGroup *like,
                              SrArena *arena, SrParamGroups *out);

#endif
