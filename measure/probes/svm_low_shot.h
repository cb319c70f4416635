// Support vector machines on a few images of each class: VISSL's train_svm_low_shot.
#ifndef SR_MEASURE_PROBES_SVM_LOW_SHOT_H
#define SR_MEASURE_PROBES_SVM_LOW_SHOT_H

#include "measure/probes/svm.h"

// Result for one k and cost.
typedef struct {
    int k, n; // images per class; draws
    double cost;
    double mean, min, max, std; // figure over the draws, see sr_svm_low_shot
} SrLowShotResult;

// Identity of a draw.
typedef struct {
    uint64_t seed;
    int sample, k; // number of the draw; images per class
} SrLowShotDraw;
// Sets y[i] = sign for `want` random images among those with has[i] == sign, or for all if there
// are fewer.  has, y: (n).  order: scratch (n).  The random stream belongs to (seed, sample,
// class, k, sign), so no draw depends on another.
void sr_low_shot_draw(const SrLowShotDraw *d, int class, const int8_t *has, int64_t n, int8_t sign,
                      int want, uint32_t *order, int8_t *y);

// Trains on draws of a few images per class.  *out: (*n) results in the arena, one for each k and
// cost, because no cost is chosen by looking at the test rows.  The figure is the accuracy in per
// cent, or 100 * mean AP if images have several labels.  A draw takes k images of each class;
// with several labels, k positives and 19 k negatives of each class.  Draws depend on (seed,
// draw, k, class). config->normalize normalises both sides in place.
SrStatus sr_svm_low_shot(const SrSvmConfig *config, uint64_t seed, SrMatrix *train, SrMatrix *test,
                         SrArena *arena, SrLowShotResult **out, int *n);

#endif
