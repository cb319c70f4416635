// Learning rates and weight decays of a run by its schedules.
#ifndef SR_TRAINER_RUN_RUN_RATES_H
#define SR_TRAINER_RUN_RUN_RATES_H

#include "trainer/run/run_parts.h"

// Builds run->lr and the other schedules.  lr_head has its own schedule only with
// head_optimizer_params.use_different_lr, as in VISSL.
SrStatus sr__run_build_schedules(SrRun *run);
// Gets the learning rates for the update after `iteration` others, and sets the decays in the
// optimiser.
void sr_run_rates(SrRun *run, int64_t iteration, double *lr, double *lr_head);

#endif
