// Checks of a run that need its graph or its data.
#ifndef SR_TRAINER_RUN_RUN_CHECK_H
#define SR_TRAINER_RUN_RUN_CHECK_H

#include "trainer/run/run_parts.h"

// Checks that each output has a score for every class of the split.  which: "TRAIN" or "TEST".
// Returns SR_OK in a run without labels.
SrStatus sr_run_check_classes(const SrRun *run, const SrSplit *split, const char *which);
// Return SR_ERR_CONFIG for batch norms over a single row, and for an evaluated layer that
// the trunk lacks.
SrStatus sr__run_check_norms(const SrRun *run);
SrStatus sr__run_check_layer(SrRun *run);

#endif
