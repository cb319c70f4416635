// Made-up features for tests of what is computed on them.
#ifndef SR_TESTS_TRAINER_FEATURE_ROWS_H
#define SR_TESTS_TRAINER_FEATURE_ROWS_H

#include "measure/matrix.h"

// n rows around `classes` centres drawn from seed 1 and `spread` apart, with noise of variance 1 from `seed`; label i
// is i % classes.  Free with sr_matrix_deinit.
void test_rows_planted(SrMatrix *f, int64_t n, int d, int classes, double spread, uint64_t seed);
// The same rows and labels as a safetensors file with tensors `name` and "labels".
void test_rows_save(const SrMatrix *f, const char *path, const char *name);

#endif
