// Before the first step: do all ranks run the same program on the same configuration and the same data?  Where they do
// not, parameters would drift apart without a word.  Nothing with one rank.
#ifndef SR_TRAINER_RUN_RANKS_SAME_H
#define SR_TRAINER_RUN_RANKS_SAME_H

#include "trainer/run/run.h"

// Program, instructions and configuration.  Collective; SR_ERR_CONFIG names the first rank that differs, and in what.
SrStatus sr_ranks_same_start(const SrConfig *config);
// The training images: how many, of which classes, and of some of them label, name and bytes.  Collective.
SrStatus sr_ranks_same_data(const SrSplit *train);

#endif
