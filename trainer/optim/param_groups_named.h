// Constructors of parameter groups other than `default`:
//   dino               two groups, with decay and without
//   lr_decay           rates that fall towards the input: layer-wise decay, as in BEiT (Bao et al.,
//                      2021, arXiv:2106.08254)
//   linear_eval_heads  one rate for each head
//
// They decide by names, as VISSL does.  Batch norms are the exception: VISSL's lr_decay takes those
// named downsample.1 for convolutions, and this one does not.
#ifndef SR_TRAINER_OPTIM_PARAM_GROUPS_NAMED_H
#define SR_TRAINER_OPTIM_PARAM_GROUPS_NAMED_H

#include "trainer/optim/param_group_list.h"

// Fills an empty *out with groups of trainable parameters, in the arena.  A parameter in no group
// is never updated.
typedef SrStatus SrParamGroupConstructor(SrParams *params, const SrOptimizerConfig *config,
                                         SrArena *arena, SrParamGroups *out);
SrParamGroupConstructor sr__param_groups_dino, sr__param_groups_lr_decay,
    sr__param_groups_linear_eval_heads;

// Checks of the constructors' keys that need no parameters.
SrStatus sr__param_groups_lr_decay_check(const SrOptimizerConfig *config);
SrStatus sr__param_groups_heads_check(const SrOptimizerConfig *config);

#endif
