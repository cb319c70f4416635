// Trains a configuration with several seeds, one after the other, and reports mean and spread.
#ifndef SR_CLI_SWEEP_H
#define SR_CLI_SWEEP_H

#include "cli/args/args.h"

#define SR_SWEEP_MAX 64

typedef struct {
    int n;                      // number of seeds; 0: no sweep
    bool given;                 // seed[] is filled; false: n seeds from the configuration's on
    int64_t seed[SR_SWEEP_MAX]; // (n)
} SrSweep;

// Takes SEED_VALUE=0,1,2 out of the overrides.  seeds: value of --seeds; 0: not given.
// SR_ERR_CONFIG: both are given, or the list is wrong.
SrStatus sr_sweep_parse(SrArgs *args, int seeds, SrSweep *out);
// Runs this program for each seed, with checkpoints in CHECKPOINT.DIR/seedN, and prints the table.
// A run that has finished is not trained again.  flags: further flags of `train`, NULL at the end.
SrStatus sr_sweep_run(const SrArgs *args, SrSweep *sweep, const char *const *flags, bool json);

#endif
