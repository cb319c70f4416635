// Reports how the ranks of a run share its work.  With one rank the calls do nothing.
#ifndef SR_TRAINER_RUN_RANKS_RUN_RANKS_H
#define SR_TRAINER_RUN_RANKS_RUN_RANKS_H

#include "trainer/run/run_parts.h"

// Logs the number of ranks, the replicas and threads of each, and whether bits depend on the
// number.
void sr_run_ranks_say(const SrRun *run);
// Logs how much of the gradients' exchange ran at the same time as the backward pass.
void sr_run_ranks_say_sums(const SrRun *run);

#endif
