// Gets the training and test features of an evaluation: from the frozen trunk of a configuration,
// with its baselines, or from files of features.
#ifndef SR_TRAINER_EVAL_EVAL_SETS_H
#define SR_TRAINER_EVAL_EVAL_SETS_H

#include "trainer/eval/baselines.h"

typedef struct {
    const SrConfig *config;   // options, and without files the trunk and its images
    const char *train, *test; // files of features (feature_files.h); NULL: the configuration's
    const char *layer;        // NULL: "flatten", or a file's only layer
    bool baselines;           // of the configuration
    bool random;         // of the configuration: the baselines alone, no weights are looked for
    bool one_set;        // files: both sets are `train`
    const char *weights; // of the configuration, in the place of its PARAMS_FILE; NULL: that one
    // filled
    int64_t n_train, n_test; // images
    int d;                   // numbers of the trained trunk's feature
    double seconds;
    const char *note; // of the split, "" if there is nothing to say
} SrEvalSets;

// Calls each() for every row; files give SR_ROW_TRAINED alone.  SR_ERR_CONFIG: a set has no labels.
SrStatus sr_eval_sets_each(SrEvalSets *sets, SrEachRow each, void *arg);
const char *sr_eval_sets_row_name(const SrEvalSets *sets,
                                  int row); // "trained trunk"; of files "features"
// "SVM: 4000 test images against 20000, layer flatten (128 numbers), 12 s", and the note.
void sr_eval_sets_text(const SrEvalSets *sets, const char *what, SrText *out);
void sr_eval_sets_json(const SrEvalSets *sets, SrText *out); // the same as fields

#endif
