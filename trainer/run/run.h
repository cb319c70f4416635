// Builds all parts of a training run from the configuration: data, model, graph, plan, optimiser,
// schedules.  `sslrun check` builds them without data and memory.
#ifndef SR_TRAINER_RUN_RUN_H
#define SR_TRAINER_RUN_RUN_H

#include "trainer/run/run_parts.h"

// Builds a run.  A configuration whose parameters are all frozen can only be checked: its cost is
// that of one forward pass.
SrStatus sr_run_open(const SrConfig *config, SrRunMode mode, SrRun **out);
void sr_run_close(SrRun *run);
// Prepares for the first step, once parameters have the values that the run begins with, after
// `iteration` steps.  The loss sees the parameters, a frozen trunk is compiled, and its features
// are kept if possible.
SrStatus sr_run_begin(SrRun *run, int64_t iteration, bool resumed);
// Return the step of batch number `at`, and its plan's inputs for sr_feed_next.
SrStep *sr_run_step_at(SrRun *run, int64_t at);
SrFeedTarget sr_run_target_at(SrRun *run, int64_t at);
// Starts an epoch at its step number `at`.  Order and views are those of the epoch; with
// DISTILLATION.CACHED_VIEWS = K, those of epoch mod K.
SrStatus sr_run_start_epoch(SrRun *run, int64_t epoch, int64_t at);
// Loads the images of step number `at` of its epoch, for all replicas of this rank.  *end: there
// are no images left.  *labels gets those of the last replica, valid until the next call.
SrStatus sr_run_load(SrRun *run, int64_t at, bool *end, const int64_t **labels, double *wait_s);
SrCheckpointParts sr_run_parts(SrRun *run);

#endif
