// A checkpoint's position in the batches of the run that goes on from it.
#ifndef SR_TRAINER_RUN_POSITION_H
#define SR_TRAINER_RUN_POSITION_H

#include "trainer/run/checkpoint.h"

typedef enum {
    SR_FIT_SAME,    // its batches are those of this run
    SR_FIT_BATCH,   // other batches of the same images: it now stands behind as many images
    SR_FIT_RESTART, // other images, in another order: it now stands at the start of its epoch
} SrFit;

// images: that the order is drawn of; steps: updates an epoch; at->batch becomes at most that.  Under SR_FIT_BATCH
// whole batches of this run count, and *again (below batch_size) images are seen a second time.  at->iteration is
// counted anew wherever anything changes, because schedules are functions of the share of updates done.
SrFit sr_position_fit(SrPosition *at, int batch_size, int64_t images, int64_t steps,
                      int64_t *again);

#endif
