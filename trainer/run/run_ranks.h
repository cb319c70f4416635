// What several ranks of a run say and compare around the loop; nothing with one rank.
#ifndef SR_TRAINER_RUN_RUN_RANKS_H
#define SR_TRAINER_RUN_RUN_RANKS_H

#include "trainer/run/run.h"

// Who computes a step: ranks, replicas and threads of each, and whether bits depend on their number.
void sr_run_ranks_say(const SrRun *run);
// How much of the exchange of gradients the backward hid.
void sr_run_ranks_say_sums(const SrRun *run);

#endif
