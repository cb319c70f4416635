// The pass over all training images that a loss may make before an epoch.
#ifndef SR_TRAINER_RUN_EPOCH_PASS_H
#define SR_TRAINER_RUN_EPOCH_PASS_H

#include "trainer/run/run_parts.h"

// Returns the view of the run that a loss's before_epoch gets.
SrEpoch sr_run_epoch(SrRun *run, int64_t iteration, int epoch);

#endif
