// MODEL.TEMP_FROZEN_PARAMS_ITER_MAP: parameters that the optimiser leaves alone for the first n
// iterations.
#ifndef SR_TRAINER_MODEL_FREEZE_H
#define SR_TRAINER_MODEL_FREEZE_H

#include "graph/params.h"
#include "trainer/config/config.h"

typedef struct {
    int n;
    int *param;          // table indices
    int64_t *iterations; // frozen while iteration < iterations[i]
    bool *skip;          // one a parameter of the table, for sr_optim_step
    int64_t last;        // no entry is frozen from this iteration on
} SrFreeze;

// A name that is no parameter: SR_ERR_CONFIG with the nearest (VISSL finds out when the
// map expires, or never).  Memory comes from the arena.
SrStatus sr_freeze_new(SrParams *params, const SrModelConfig *config, SrArena *arena,
                       SrFreeze *out);
// The error for a name under `key` that is none of the parameters that learn.
SrStatus sr_freeze_unknown(SrParams *params, const char *key, const char *name);
// skip for this iteration, NULL when nothing is frozen.
const bool *sr_freeze_at(SrFreeze *freeze, int64_t iteration);

#endif
