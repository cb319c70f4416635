// Features of many images, one row per image, with the images' labels.  They come from a trunk
// (trainer/features/feature_rows.h) or from files (trainer/eval/extract/feature_files.h).
#ifndef SR_MEASURE_MATRIX_H
#define SR_MEASURE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// A set of rows.  sr_matrix_init or sr_matrix_take allocates it, and sr_matrix_deinit frees it.
// A caller may also point the fields to memory of its own (mapped = 0).
typedef struct {
    int64_t n; // rows; may be lowered, which drops the last rows
    int d;     // numbers of a row
    // Bytes of x that sr_matrix_init mapped.  0: x, label and target belong to the caller.
    size_t mapped;
    float *x;       // (n, d)
    int64_t *label; // (n) class of each row; -1: none, the row is ignored
    int n_targets;  // classes of `target`, if images have several labels (VOC); else 0
    int8_t *target; // (n, n_targets): 1 present, 0 absent, -1 not judged; NULL: label counts
} SrMatrix;

// Allocates rows of zeros with label 0 and no targets.  SR_ERR_CONFIG: n < 1 or d < 1.
SrStatus sr_matrix_init(SrMatrix *f, int64_t n, int d);
// Empties the set.  Memory that belongs to the caller stays as it is.
void sr_matrix_deinit(SrMatrix *features);
// Copies the rows with the n indices in `row`, in that order, to a new set.  SR_ERR_CONFIG: n < 1.
SrStatus sr_matrix_take(const SrMatrix *from, const int64_t *row, int64_t n, SrMatrix *out);
// Keeps the rows with keep[i] > 0, in their order, and lowers n, in place.  keep: (n).
void sr_matrix_keep(SrMatrix *f, const int8_t *keep);

// Divides each row by max(length, 1e-12) + plus.  plus = 0 is torch.nn.functional.normalize, 1e-5
// is VISSL's SVM.  Rows of zeros stay zero.
void sr_matrix_normalize(SrMatrix *features, double plus);
// Measures how much the rows' lengths differ: the ninth decile of the lengths divided by the
// first, at least 1.  Rows of zeros and rows that are not finite do not count.  *out is 1 if
// fewer than ten rows are left.  SR_ERR_MEMORY: out of memory.
SrStatus sr_matrix_length_ratio(const SrMatrix *features, double *out);
// Returns n_targets, or the largest label + 1.  0: no row is labelled.
int sr_matrix_classes(const SrMatrix *features);

#endif
