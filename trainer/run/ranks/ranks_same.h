// Checks before the first step that all ranks run the same program, on the same configuration and
// data. Otherwise parameters would drift apart without a word.  With one rank the calls do
// nothing.
#ifndef SR_TRAINER_RUN_RANKS_RANKS_SAME_H
#define SR_TRAINER_RUN_RANKS_RANKS_SAME_H

#include "trainer/run/run.h"

// Compares program, instruction set and configuration.  Collective.  SR_ERR_CONFIG: a rank
// differs; the message says which, and in what.
SrStatus sr_ranks_same_start(const SrConfig *config);
// Compares the training images: number, classes, and label, name and bytes of some.  Collective.
SrStatus sr_ranks_same_data(const SrSplit *train);

#endif
