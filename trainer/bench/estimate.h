// How long a step will take, before one is run: for `sslrun check`.
#ifndef SR_TRAINER_BENCH_ESTIMATE_H
#define SR_TRAINER_BENCH_ESTIMATE_H

#include "trainer/run/run.h"

// Seconds of one training step (of the forward, where nothing learns) without data loading.  Times three small graphs
// on this machine, which takes some tenths of a second.  docs/lab/performance.md sets it beside measured steps.
SrStatus sr_estimate_step(SrRun *run, double *seconds);

#endif
