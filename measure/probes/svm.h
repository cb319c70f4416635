// Linear support vector machines on frozen features: VISSL's train_svm (Goyal et al., "Scaling and
// benchmarking self-supervised visual representation learning", ICCV 2019, section 4).
//
// Each class has a machine against the rest, with weight 2 on positives.  Cross-validation
// chooses the cost by average precision, on stratified folds as in sklearn.  The machines are
// then fitted again on all training rows.  If images have several labels (VOC), each class has
// its own cost.  With one label, all classes share the cost with the best mean, because their
// scores are compared with each other.
#ifndef SR_MEASURE_PROBES_SVM_H
#define SR_MEASURE_PROBES_SVM_H

#include "base/arena.h"
#include "base/plugin/option.h"
#include "measure/probes/liblinear.h"

// The configuration section SVM.
typedef struct {
    bool normalize;     // rows of both sides get length 1
    SrInts classes;     // cls_list; empty: all classes
    int loss, penalty;  // loss: 0 squared_hinge, 1 hinge; penalty: 0 l2, 1 l1
    int folds;          // cross_val_folds
    SrDoubles costs;    // costs_list
    double cost_base;   // above 0: the costs cost_base^k are tried too, k in power_range
    SrInts power_range; // [first k, one after the last k]
    SrInts low_shot_draws, low_shot_k; // numbers of the draws; images of a class in a draw
} SrSvmConfig;

#define SR_SVM_NORM_PLUS 1e-5      // VISSL divides a row by its length plus this
#define SR_SVM_POSITIVE_WEIGHT 2.0 // class_weight of the positives in VISSL's LinearSVC
#define SR_SVM_TOLERANCE 1e-4      // sklearn's default

typedef struct {
    int classes, n_costs;
    double *cost; // (n_costs)
    // (classes, n_costs) average precision in cross-validation, 0 to 1.  -1: the class is not
    // trained, no fold has positives, or there is one cost, which needs no validation.
    double *crossval_ap;
    double *chosen; // (classes) cost; -1: not trained
    double *ap; // (classes) AP on the test images, SR_AP_ENVELOPE; -1: no positives, or not trained
    double *w;  // (classes, d + 1), the bias last
    double mean_ap;  // 0 to 1, over the classes that have positives among the test images
    double accuracy; // per cent of images whose label scores best; -1: several labels per image
} SrSvmResult;

// Trains, validates and judges the machines.  The arena owns the result.  config->normalize
// normalises both sides in place.
SrStatus sr_svm(const SrSvmConfig *config, SrMatrix *train, SrMatrix *test, SrArena *arena,
                SrSvmResult *out);

// Checks the input and returns the solver in *kind.  SR_ERR_CONFIG: the sides do not fit together,
// there are fewer than two classes, or the options contradict each other.
SrStatus sr_svm_check(const SrSvmConfig *config, const SrMatrix *train, const SrMatrix *test,
                      SrLinearKind *kind);
// Lists the costs of the configuration: costs_list, then the powers.  *costs: (*n), in the arena.
// SR_ERR_CONFIG: there is none, there are more than 256, or power_range is no range.
SrStatus sr_svm_costs(const SrSvmConfig *config, SrArena *arena, double **costs, int *n);

// Fills y (n) for class c: 1 if the image has it, else -1; 0 if the image has no label.  A target
// of -1 (VOC's difficult objects) is a negative, because VISSL trains as if they were absent.
void sr_svm_targets(const SrMatrix *f, int c, int8_t *y);
// Judges scores (n, classes) on the test rows.  chosen: (classes); classes below 0 are left out.
// ap: (classes), NULL: not wanted.  The three figures are as in SrSvmResult.
SrStatus sr_svm_judge(const SrMatrix *test, const float *scores, const double *chosen, int classes,
                      double *ap, double *mean_ap, double *accuracy);

#endif
