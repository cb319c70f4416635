// Logistic regression on frozen features: VISSL's low_shot_test.
//
// Columns are standardised by the training images.  The penalty is L2, and the cost C is the
// number of training images / lambda.  All classes share one softmax
// (measure/probes/softmax_regression.h).  On request, and if images have several labels, each class
// has a classifier against the rest (measure/probes/liblinear.h).  tests/parity/linear.py compares
// both with scikit-learn.
#ifndef SR_MEASURE_PROBES_LOGREG_H
#define SR_MEASURE_PROBES_LOGREG_H

#include "measure/probes/svm.h"

// The configuration section LOW_SHOT_BENCHMARK.  Keys marked "ours" are not in VISSL.
typedef struct {
    SrDoubles lambdas;
    SrInts seeds;    // one draw each; unused if per_class is 0
    int per_class;   // SAMPLES_PER_CLASS (ours): images of each class in a draw; 0: all images
    int one_vs_rest; // MULTI_CLASS (ours): 0: one softmax; 1: one classifier per class
    int max_iter;    // MAX_ITER (ours), of the softmax
} SrLowShotConfig;

// Result for one lambda.  Figures are accuracies in per cent, averaged over the draws.  If images
// have several labels, they are 100 * mean AP.
typedef struct {
    double lambda;
    double train, test, test_std; // test_std: standard deviation over the draws
    int n;                        // draws
    int64_t images;               // training images of the last draw
} SrLogregResult;

// Trains and judges one classifier for each lambda and draw.  *out: (*n) results, one per lambda,
// in the arena.  Neither matrix changes, because draws are copies.  SR_ERR_CONFIG: as in
// sr_svm_check, or no lambda, or no seed.
SrStatus sr_logreg(const SrLowShotConfig *config, uint64_t seed, const SrMatrix *train,
                   const SrMatrix *test, SrArena *arena, SrLogregResult **out, int *n);

#endif
