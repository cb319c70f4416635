// An optimiser over parameter groups.  Checkpoints contain its state for each parameter (momentum,
// second moments).
#ifndef SR_TRAINER_OPTIM_OPTIM_H
#define SR_TRAINER_OPTIM_OPTIM_H

#include "graph/ir/params.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/param_groups.h"

typedef struct SrOptim SrOptim;
// Groups the parameters with the configured constructor and allocates state for every parameter
// in a group.  Call it after sr_params_allocate; params and config must outlive *out, which the
// caller frees.
SrStatus sr_optim_new(SrParams *params, const SrOptimizerConfig *config, SrOptim **out);
// Does so with the caller's groups, which are copied.  A trainable parameter in no group is never
// updated.
SrStatus sr_optim_new_grouped(SrParams *params, const SrOptimizerConfig *config,
                              const SrParamGroups *groups, SrOptim **out);
// Forecasts what rules that update whole parameters cost in a step: the floats of the largest work
// space, and the operations of all parameters in the groups.  options: those of the optimiser.
SrOptimWork sr_optim_work(const SrOptimizer *kind, const void *options, SrParams *params,
                          const SrParamGroups *groups);
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
size_t sr_optim_bytes(const SrOptim *optim); // bytes of states and work space, for the memory plan

#endif
