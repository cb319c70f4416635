// Number of epochs that fits OPTIMIZER.MINUTES on this machine.
#ifndef SR_TRAINER_BENCH_MINUTES_H
#define SR_TRAINER_BENCH_MINUTES_H

#include "trainer/config/config.h"

enum { SR_MINUTES_BYTES = 48 };

// Writes the override that gives a configuration with OPTIMIZER.MINUTES its epochs, such as
// "OPTIMIZER.num_epochs=32", and says how long they take.  At least one epoch.  A run whose folder
// has a configuration already keeps that one's epochs, so that it resumes in the same bits.
// restart: it does not.  Collective.  SR_ERR_CONFIG: the command line sets num_epochs too.
SrStatus sr_minutes_override(const SrConfig *config, bool restart, char out[SR_MINUTES_BYTES]);

#endif
