// Forecasts the time of an epoch on this machine, before one is run.
#ifndef SR_TRAINER_BENCH_EPOCH_TIME_H
#define SR_TRAINER_BENCH_EPOCH_TIME_H

#include "trainer/config/config.h"

typedef struct {
    double seconds;      // of an epoch: steps and loading, which share the cores
    double memory_bytes; // of the run
} SrEpochTime;

// Times a plan of the configuration (estimate.h) and the loading of some of its images
// (bench_data.h); this takes some seconds.  images: images of an epoch.
SrStatus sr_epoch_time(const SrConfig *config, int64_t images, SrEpochTime *out);
// Does so for the training images of the configuration, by running some of its steps (bench.h):
// slower, and right for small models too, whose steps are mostly overhead.  Stages count with their
// shares of the epochs.
SrStatus sr_epoch_time_of_steps(const SrConfig *config, double *seconds);

#endif
