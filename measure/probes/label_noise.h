// Confident learning: which labels are probably wrong, and how often each class is taken for each
// other (Northcutt, Jiang and Chuang, "Confident Learning: Estimating Uncertainty in Dataset
// Labels", JAIR 2021, sections 3.1 to 3.3), and SelfClean's ratio of distances (Groeger et al.,
// NeurIPS 2024, arXiv 2305.17048, section 3.2).
#ifndef SR_MEASURE_PROBES_LABEL_NOISE_H
#define SR_MEASURE_PROBES_LABEL_NOISE_H

#include "measure/matrix.h"

typedef struct {
    int classes;
    double *threshold;  // (classes) mean probability of the class over rows that have its label
    int64_t *confident; // (classes, classes) rows of given label i that are confidently of class j
    // (classes, classes) joint distribution of given and true label, sum 1: `confident`, scaled so
    // that row i has the share of label i
    double *joint;
    double noise;  // estimated share of wrong labels: the sum of `joint` off its diagonal
    int64_t *best; // (n) most probable class of each row; -1: no label
    // (n) 1: the label is probably wrong.  For each pair of classes, the n * joint rows with the
    // largest margin p[j] - p[i] are marked ("prune by noise rate")
    int8_t *wrong;
} SrLabelNoise;

// Estimates the noise.  probability: (n, classes) out-of-sample predictions
// (measure/probes/fold_predictions.h).  label: (n) given labels; -1: none.  Free *out with
// sr_label_noise_deinit, also after a failure.
SrStatus sr_label_noise(const float *probability, const int64_t *label, int64_t n, int classes,
                        SrLabelNoise *out);
void sr_label_noise_deinit(SrLabelNoise *noise);

// Computes other^2 / (same^2 + other^2) for the distances to the nearest rows of the same class and
// of other classes (measure/neighbours/nearest_rows.h).  A small ratio means a wrong label.
// Squared Euclidean distances, which 1 - cosine is up to a factor, are squares already: squared =
// true.  Rows with one of the distances missing get NaN; two distances of 0 give one half.  ratio:
// (n).
void sr_label_ratio(const float *same, const float *other, int64_t n, bool squared, float *ratio);

#endif
