// Freezes parameters for the first steps: MODEL.TEMP_FROZEN_PARAMS_ITER_MAP.  The optimiser leaves
// each of them alone for its number of steps.
#ifndef SR_TRAINER_MODEL_FREEZE_H
#define SR_TRAINER_MODEL_FREEZE_H

#include "graph/ir/params.h"
#include "trainer/config/config.h"

typedef struct {
    int n;               // entries of the map
    int *param;          // (n) indices in the parameter table
    int64_t *iterations; // (n) frozen while the step is less than this
    bool *skip;          // (parameters of the table) for sr_optim_step
    int64_t last;        // first step at which nothing is frozen
} SrFreeze;

// Reads the map into *out, whose memory is the arena's.  SR_ERR_CONFIG: a name is no parameter; the
// message names the closest one.  (VISSL notices when the map expires, or never.)
SrStatus sr_freeze_new(SrParams *params, const SrModelConfig *config, SrArena *arena,
                       SrFreeze *out);
// Returns the error for a name under `key` that is no parameter that learns.
SrStatus sr_freeze_unknown(SrParams *params, const char *key, const char *name);
// Returns `skip` for this step.  NULL: nothing is frozen.
const bool *sr_freeze_at(SrFreeze *freeze, int64_t iteration);

#endif
