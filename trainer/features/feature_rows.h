// Makes one row per image of a data set: features of a source, or the pixels themselves.
//
// Rows have the order and the labels of the set, whatever the number of threads.  Images that
// cannot be read leave no row.  Over a shared split (trainer/data/data_split.h) each rank computes
// its share of the batches, and every rank gets all rows; such a call is collective, and all ranks
// return the failure of one.
//
// A split with N random crops per image (SrSplit.crops) is passed over N times; a row is then the
// mean over the crops of its image.
#ifndef SR_TRAINER_FEATURES_FEATURE_ROWS_H
#define SR_TRAINER_FEATURES_FEATURE_ROWS_H

#include "trainer/data/data_split.h"
#include "trainer/features/feature_source.h"

// Computes the layers of every image, next to each other and flattened as they lie in memory;
// stages are pooled.  The split's batches are the source's.  Free with sr_matrix_deinit.
SrStatus sr_feature_rows(SrFeatureSource *source, SrSplit *split, SrMatrix *out);

// Does so for one layer of a live model, named as in a configuration.  stages not NULL: receives
// the model's stages, whose rows are computed in place of the layer's.
SrStatus sr_feature_rows_of_model(SrModel *model, const char *layer, SrStages *stages,
                                  SrSplit *split, int batch, SrMatrix *out);

// Does so for one layer, pooled as a stage is: a map of any size gives few floats per image.
SrStatus sr_feature_rows_pooled(SrModel *model, const char *layer, SrSplit *split, int batch,
                                SrMatrix *out);

// Finds the item of the set that each row belongs to.  Images that cannot be read have no row.
// Makes a pass over the images.
//   item  (n) gets the items; *found gets their number, at most n
SrStatus sr_feature_rows_items(SrSplit *split, int64_t n, int64_t *item, int64_t *found);

// Copies the images: normalised pixels, averaged over squares down to at most 32 x 32.
#define SR_PIXELS_MAX_SIDE 32
SrStatus sr_feature_rows_of_pixels(SrSplit *split, SrMatrix *out);

#endif
