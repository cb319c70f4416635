// A frozen trunk's weights from a file of any of formats/'s kinds, under torchvision's, VISSL's or another known
// writer's key names, strictly: what load_state_dict(strict=True) checks, with everything that is wrong listed at once.
//
// Not MODEL.WEIGHTS_INIT (weights.c), which starts a training from whatever fits.
#ifndef SR_TRAINER_MODEL_TRUNK_WEIGHTS_H
#define SR_TRAINER_MODEL_TRUNK_WEIGHTS_H

#include "graph/params.h"

typedef struct {
    const char *path;
    const char *
        classifier; // "fc": may be missing where no node needs it, and may be left over where there is none
    bool
        lax; // what is missing keeps its value, what is left over is ignored; misshapen is an error all the same
} SrTrunkWeights;

// whole: the table of the whole trunk, which the file must match; params: what is wanted of it, allocated here.
// How the keys are read (a prefix off: "", "trunk._feature_blocks.", "module.", ..., or formats/naming.h's mapping) is
// found by what matches most.  Counters (num_batches_tracked) may be missing, as in files older than them.
SrStatus sr_trunk_weights_load(const SrTrunkWeights *source, SrParams *whole, SrParams *params);

#endif
