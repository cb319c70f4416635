// Out-of-sample predictions of a linear probe: each row is judged by a probe that never saw it.
//
// The labelled rows are cut into SR_FOLDS parts that hold the classes in equal shares.  For each
// part, softmax regression (measure/probes/softmax_regression.h) is fitted on the others, with
// columns standardised by them, and predicts the part.  Rows are read by blocks, many times; the
// choice of the cost holds SR_CHOSEN_PROBE_ROWS of them.
#ifndef SR_MEASURE_PROBES_FOLD_PREDICTIONS_H
#define SR_MEASURE_PROBES_FOLD_PREDICTIONS_H

#include "measure/row_view.h"

#define SR_FOLDS 5

// Predicts the class of each labelled row.  classes: above each label.  cost: C of scikit-learn; 0:
// the one that measure/probes/chosen_probe.h chooses.  probability: (n, classes); rows without a
// label get zeros.  The bits depend on rows and seed, not on the number of threads.  SR_ERR_CONFIG:
// fewer than two classes have SR_FOLDS rows.
SrStatus sr_fold_predictions(const SrRowView *rows, int classes, double cost, uint64_t seed,
                             float *probability);

#endif
