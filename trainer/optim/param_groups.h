// Groups the parameters with the constructor that OPTIMIZER.param_group_constructor names.
#ifndef SR_TRAINER_OPTIM_PARAM_GROUPS_H
#define SR_TRAINER_OPTIM_PARAM_GROUPS_H

#include "trainer/optim/param_group_list.h"

// Checks OPTIMIZER.param_group_constructor and its own keys, as far as that needs no parameters.
SrStatus sr_param_groups_check(const SrOptimizerConfig *config);
// Makes the groups in the arena with the configured constructor.
SrStatus sr_param_groups(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                         SrParamGroups *out);

#endif
