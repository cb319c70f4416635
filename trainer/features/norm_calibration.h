// Batch-norm statistics of a trunk that was never trained.  As drawn they are a mean of 0 and a
// variance of 1, which no image has; some untrained trunks are far better with measured ones.
#ifndef SR_TRAINER_FEATURES_NORM_CALIBRATION_H
#define SR_TRAINER_FEATURES_NORM_CALIBRATION_H

#include "trainer/data/data_split.h"
#include "trainer/model/model.h"

// Runs the trunk in train mode over the split's batches, at most 40 and each at most once, and
// replaces the running statistics of its norms by the weighted mean of the batches' statistics:
// what `momentum` left of the drawn values is taken out.
//   batch  images per pass
SrStatus sr_norms_calibrate(SrModel *model, SrSplit *split, int batch);

#endif
