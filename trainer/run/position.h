// Translates a checkpoint's position into the batches of the run that resumes from it.
#ifndef SR_TRAINER_RUN_POSITION_H
#define SR_TRAINER_RUN_POSITION_H

#include "trainer/run/checkpoint.h"

typedef enum {
    SR_FIT_SAME,    // both runs have the same batches
    SR_FIT_BATCH,   // another batch size: the position was moved to the same number of images
    SR_FIT_RESTART, // other images in another order: it was moved to the start of its epoch
} SrFit;

// Moves *at; `images` and `steps` are the run's images and updates per epoch.  at->batch is at
// most `steps` then.  With SR_FIT_BATCH the position is after a whole batch of this run, and
// *again gets the images that are seen a second time (less than batch_size).  If the position
// moves, at->iteration is recomputed, because schedules depend on the share of updates done.
SrFit sr_position_fit(SrPosition *at, int batch_size, int64_t images, int64_t steps,
                      int64_t *again);

#endif
