// Checks the stages of a run (trainer/config/stages.h) before it begins, and compares their steps.
#ifndef SR_TRAINER_TRAIN_STAGES_H
#define SR_TRAINER_TRAIN_STAGES_H

#include "trainer/config/config.h"
#include "trainer/run/run.h"

// Looks at the step of stage k, which has no data and no memory.
typedef SrStatus SrStageSeen(void *arg, int k, SrRun *dry);

// Builds the steps of all stages (trainer/config/stages.h) but the last, without data and memory,
// shows each to `seen` (NULL: nobody looks), and warns of what they replace.  SR_ERR_CONFIG, which
// names the stage: one is wrong, or has another number of views.
SrStatus sr_train_check_stages(const SrConfig *config, SrStageSeen *seen, void *arg);
// Gets the steps of stage k that cost as much as later stages cost beyond the same number of its
// steps; negative: later steps are cheaper.  A step's cost is taken as its number of pixels.
SrStatus sr_train_later_steps(const SrConfig *config, int k, double steps_per_epoch, double *out);

#endif
