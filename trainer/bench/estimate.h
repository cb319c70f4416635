// Estimates the time of a training step before one is run, for `sslrun check`.
#ifndef SR_TRAINER_BENCH_ESTIMATE_H
#define SR_TRAINER_BENCH_ESTIMATE_H

#include "trainer/run/run_parts.h"

// Estimates the seconds of one training step, or of the forward if nothing learns, without data
// loading.  It times three small graphs on this machine, which takes some tenths of a second.
// docs/lab/performance.md compares estimates with measured steps.
SrStatus sr_estimate_step(SrRun *run, double *seconds);
// Returns the backward's share of a step's operations, 0 to 1.  0: nothing learns.
double sr_estimate_backward_share(const SrRun *run);

#endif
