// Number of epochs that fits OPTIMIZER.MINUTES on this machine.
#ifndef SR_TRAINER_BENCH_MINUTES_H
#define SR_TRAINER_BENCH_MINUTES_H

#include "trainer/config/config.h"

// Replaces a configuration with OPTIMIZER.MINUTES, which was loaded from `path` and n overrides, by
// one whose num_epochs fits that time, and says how long an epoch takes.  At least one epoch.  A
// run whose folder has a configuration already keeps that one's epochs, so that it resumes in the
// same bits.  restart: it does not.  Without the key, or where nothing is trained, *config stays.
// Collective.  On failure *config is freed.  SR_ERR_CONFIG: the command line sets num_epochs too.
SrStatus sr_minutes_fit(const char *path, const char *const *overrides, int n, bool restart,
                        SrConfig **config);

#endif
