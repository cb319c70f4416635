// Matches the classes of two sets of features in files by name: a folder that lacks a class, or has
// them in another order, numbers them differently.  trainer/data/class_match.h does so for images.
#ifndef SR_TRAINER_EVAL_EXTRACT_FEATURE_CLASSES_H
#define SR_TRAINER_EVAL_EXTRACT_FEATURE_CLASSES_H

#include "measure/matrix.h"
#include "trainer/eval/extract/feature_names.h"

typedef struct {
    const char *path; // for messages
    SrMatrix *rows;
    const SrStringList *classes; // names by label; empty: labels are compared as numbers
} SrFeatureSide;

// Changes the test's labels to the numbers that the training side gives their classes.  A test row
// of a class that TRAIN has not, a label without a name, targets of classes in another order:
// SR_ERR_CONFIG with the names.
SrStatus sr_feature_classes_match(const SrFeatureSide *train, const SrFeatureSide *test);

#endif
