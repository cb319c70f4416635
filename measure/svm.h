// Linear support vector machines on frozen features: VISSL's train_svm (Goyal et al., "Scaling and
// benchmarking self-supervised visual representation learning", ICCV 2019, section 4).
//
// One machine a class against the rest, positives weighing twice; the cost that ranks best in cross-validation
// (average precision, stratified folds, sklearn's rules) is refitted on everything.  With several labels an image
// (VOC) each class has its own cost; with one label the classes share the cost whose mean is best, because their
// scores are compared with one another.
#ifndef SR_MEASURE_SVM_H
#define SR_MEASURE_SVM_H

#include "base/arena.h"
#include "base/option.h"
#include "measure/liblinear.h"

typedef struct { // SVM
    bool normalize;
    SrInts classes;    // cls_list; empty: all
    int loss, penalty; // squared_hinge or hinge; l2 or l1
    int folds;         // cross_val_folds
    SrDoubles costs;
    double cost_base; // base^k for k in the power range too, when above 0
    SrInts power_range;
    SrInts low_shot_draws, low_shot_k;
} SrSvmConfig;

#define SR_SVM_NORM_PLUS 1e-5      // VISSL divides a row by its length plus this
#define SR_SVM_POSITIVE_WEIGHT 2.0 // what VISSL gives LinearSVC as class_weight of the positives
#define SR_SVM_TOLERANCE 1e-4      // sklearn's default

typedef struct {
    int classes, n_costs;
    double *cost;        // (n_costs)
    double *crossval_ap; // (classes, n_costs); -1: not trained, or nothing to validate on
    double *chosen;      // (classes) cost; -1: not trained
    double
        *ap; // (classes) on the test images, VOC's all-point rule; -1: no positives, or not trained
    double *w;       // (classes, d + 1), the bias last
    double mean_ap;  // over the classes that have positives among the test images
    double accuracy; // per cent of images whose label scores best; -1 with several labels an image
} SrSvmResult;

// Normalises both sides when the configuration says so.  Results live in the arena.
SrStatus sr_svm(const SrSvmConfig *config, SrMatrix *train, SrMatrix *test, SrArena *arena,
                SrSvmResult *out);

// What no machine can be trained on: unlike sides, fewer than two classes, options that contradict each other.
SrStatus sr_svm_check(const SrSvmConfig *config, const SrMatrix *train, const SrMatrix *test,
                      SrLinearKind *kind);
// The costs of the configuration, in order: costs_list, then the powers.  *costs (*n), in the arena.
SrStatus sr_svm_costs(const SrSvmConfig *config, SrArena *arena, double **costs, int *n);

// y (n) of one class: 1 where the image has it, else -1 (labels of -1 are negatives: VISSL trains on difficult objects
// as if they were absent); 0 where the image has no label at all.
void sr_svm_targets(const SrMatrix *f, int c, int8_t *y);
// What the scores (n, classes) are worth; ap may be NULL.  Classes with chosen < 0 are left out.
SrStatus sr_svm_judge(const SrMatrix *test, const float *scores, const double *chosen, int classes,
                      double *ap, double *mean_ap, double *accuracy);

// ---- few images a class (VISSL's train_svm_low_shot)
typedef struct {
    int k, n; // images a class, draws
    double cost;
    double mean, min, max, std; // of the measure over the draws
} SrLowShotResult;

// `want` images at random of those with has[i] == sign get y[i] = sign.  The stream belongs to (seed,
// sample, class, k, sign), so no draw depends on another.  order: scratch (n).
typedef struct {
    uint64_t seed;
    int sample, k;
} SrLowShotDraw;
void sr_low_shot_draw(const SrLowShotDraw *d, int class, const int8_t *has, int64_t n, int8_t sign,
                      int want, uint32_t *order, int8_t *y);

// One line for each k and cost: accuracy in per cent with one label an image, else 100 mean AP.  With one label a draw
// takes k images of each class; with several, k positives and 19 k negatives of each class.  The draws follow from
// (seed, draw, k, class).  Nothing is chosen by looking at the test, so every cost has its line.
SrStatus sr_svm_low_shot(const SrSvmConfig *config, uint64_t seed, SrMatrix *train, SrMatrix *test,
                         SrArena *arena, SrLowShotResult **out, int *n);

#endif
