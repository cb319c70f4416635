// Features of many images: one row each, with what is known about the image.  They come from a trunk
// (trainer/eval/trunk_features.h) or from files (trainer/eval/feature_files.h).
#ifndef SR_MEASURE_MATRIX_H
#define SR_MEASURE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// The caller owns it.  Rows with label -1 are ignored.
typedef struct {
    int64_t n; // may be lowered: the rows behind are then forgotten
    int d;
    size_t mapped;  // bytes of x that sr_matrix_init mapped; 0: x is somebody else's
    float *x;       // (n, d)
    int64_t *label; // (n)
    int n_targets;  // several labels an image (VOC): the number of classes; else 0
    int8_t *target; // (n, n_targets): 1 present, 0 absent, -1 not to be judged; NULL: label alone
} SrMatrix;

// Zeroed rows, labels 0, no targets.
SrStatus sr_matrix_init(SrMatrix *f, int64_t n, int d);
void sr_matrix_deinit(SrMatrix *features);
// The rows whose index is in row (n of them), in that order, as a set of its own.
SrStatus sr_matrix_take(const SrMatrix *from, const int64_t *row, int64_t n, SrMatrix *out);
// Keeps the rows with keep[i] > 0 in their order and lowers n, in place.  keep: (n)
void sr_matrix_keep(SrMatrix *f, const int8_t *keep);

// Each row divided by max(length, 1e-12) + plus: torch.nn.functional.normalize with plus = 0, VISSL's SVM with 1e-5.
// Rows of zeros stay.
void sr_matrix_normalize(SrMatrix *features, double plus);
// How much the rows' lengths differ: the ninth decile of all lengths over the first, at least 1.  Rows of zeros and
// rows that are not finite do not count; 1 where fewer than ten rows are left.  SR_ERR_MEMORY.
SrStatus sr_matrix_length_ratio(const SrMatrix *features, double *out);
// Largest label or target class + 1; 0 where nothing is labelled.
int sr_matrix_classes(const SrMatrix *features);

// Standard scores: mean 0 and variance 1 a column of `fit`, the same affine map on `other` (may be NULL); columns that
// do not vary are only centred, as sklearn's StandardScaler has it.
SrStatus sr_matrix_standardize(SrMatrix *fit, SrMatrix *other);

#endif
