// Logistic regression on frozen features: VISSL's low_shot_test.
//
// Columns are standardised by the training images; the cost is their number over lambda, the penalty L2.  All classes
// in one softmax (softmax.h), or one classifier a class against the rest (liblinear.h) on request and with several
// labels an image.  tests/parity/linear.py holds both to scikit-learn's.
#ifndef SR_MEASURE_LOGREG_H
#define SR_MEASURE_LOGREG_H

#include "measure/svm.h"

typedef struct { // LOW_SHOT_BENCHMARK
    SrDoubles lambdas;
    SrInts seeds;
    int per_class;   // SAMPLES_PER_CLASS, ours
    int one_vs_rest; // MULTI_CLASS, ours: 1 is ovr
    int max_iter;    // MAX_ITER, ours
} SrLowShotConfig;

// One lambda; accuracies in per cent, averaged over the draws.  With several labels an image they are 100 mean AP.
typedef struct {
    double lambda;
    double train, test, test_std; // std over the draws
    int n;                        // draws
    int64_t images;               // trained on, in the last draw
} SrLogregResult;

// Changes neither side: draws are copies.
SrStatus sr_logreg(const SrLowShotConfig *config, uint64_t seed, const SrMatrix *train,
                   const SrMatrix *test, SrArena *arena, SrLogregResult **out, int *n);

#endif
