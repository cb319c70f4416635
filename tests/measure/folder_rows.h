// Rows that tests/parity/folder_rows.py makes too, so that C and NumPy compare on equal numbers.
#ifndef SR_TESTS_MEASURE_FOLDER_ROWS_H
#define SR_TESTS_MEASURE_FOLDER_ROWS_H

#include "measure/matrix.h"

enum { FOLDER_N = 150, FOLDER_D = 6, FOLDER_CLASSES = 3 };

// Fills out (n) with the generator's numbers in [-0.5, 0.5) from a seed.
void folder_draws(uint32_t seed, float *out, int64_t n);
// Makes the (FOLDER_N, FOLDER_D) rows with labels; free with sr_matrix_deinit.
void folder_rows(SrMatrix *out);

#endif
