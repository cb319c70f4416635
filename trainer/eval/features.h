// Features of a frozen trunk: an evaluation plan run over every image of a split.
#ifndef SR_TRAINER_EVAL_FEATURES_H
#define SR_TRAINER_EVAL_FEATURES_H

#include "trainer/eval/knn.h"
#include "trainer/model.h"
#include "trainer/split.h"

// The layer's output for each image, flattened to one row, with the split's labels.  Free with
// sr_features_deinit.
SrStatus sr_features_extract(SrModel *model, const char *layer, SrSplit *split, int batch,
                             SrFeatures *out);

// The images themselves as rows: normalised pixels, averaged over squares down to at most 32 x 32.
#define SR_PIXELS_MAX_SIDE 32
SrStatus sr_features_pixels(SrSplit *split, SrFeatures *out);

// Batch-norm statistics for a trunk that was never trained: `batches` forward passes in train mode
// over the split. Without them an untrained trunk would be compared with statistics nobody
// measured.
SrStatus sr_features_calibrate(SrModel *model, const char *layer, SrSplit *split, int batch,
                               int batches);

#endif
