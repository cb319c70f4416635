// Features of a frozen trunk: an evaluation plan run over every image of a split.
#ifndef SR_TRAINER_EVAL_TRUNK_FEATURES_H
#define SR_TRAINER_EVAL_TRUNK_FEATURES_H

#include "measure/knn.h"
#include "trainer/data/data_split.h"
#include "trainer/model/model.h"

// The layer's output for each image, flattened to one row, with the split's labels.  Free with
// sr_matrix_deinit.
SrStatus sr_trunk_features_extract(SrModel *model, const char *layer, SrSplit *split, int batch,
                                   SrMatrix *out);

// What one batch contributes: rows (batch->batch, D), D the matrix's columns.
typedef void (*SrRowsOfBatch)(void *arg, const SrBatch *batch, float *rows);
// One row an image in the order of the set, with the split's labels, into a matrix that has its size.  Over a shared
// split (data_split.h) each rank computes every so many-th batch, and all get all rows.
SrStatus sr_trunk_features_fill(SrSplit *split, SrMatrix *f, SrRowsOfBatch rows_of, void *arg);

// The images themselves as rows: normalised pixels, averaged over squares down to at most 32 x 32.
#define SR_PIXELS_MAX_SIDE 32
SrStatus sr_trunk_features_pixels(SrSplit *split, SrMatrix *out);

// Batch-norm statistics for a trunk that was never trained: `batches` forward passes in train mode
// over the split. Without them an untrained trunk would be compared with statistics nobody
// measured.
SrStatus sr_trunk_features_calibrate(SrModel *model, const char *layer, SrSplit *split, int batch,
                                     int batches);

#endif
