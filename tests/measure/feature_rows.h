// Synthetic features with planted classes, for tests of evaluations.
#ifndef SR_TESTS_TRAINER_FEATURE_ROWS_H
#define SR_TESTS_TRAINER_FEATURE_ROWS_H

#include "measure/row_view.h"

// Pointer to a view of a matrix (measure/row_view.h).
#define ROWS(m) (&(SrRowView){.n = (m).n, .d = (m).d, .label = (m).label, .x = (m).x})

// Fills f with n rows (n, d) around `classes` centres, which are drawn from seed 1 with deviation
// `spread`. Noise of variance 1 is drawn from `seed`. Label i is i % classes. The caller frees f
// with sr_matrix_deinit.
void test_rows_planted(SrMatrix *f, int64_t n, int d, int classes, double spread, uint64_t seed);
// Writes rows and labels to a safetensors file with the tensors `name` and "labels".
void test_rows_save(const SrMatrix *f, const char *path, const char *name);

#endif
