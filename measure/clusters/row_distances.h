// Distances of all rows to one row: the inner step of spanning trees and of k-centre.
//
// Rows are cut into blocks of fixed size, so that the bits do not depend on the number of threads.
// One call costs n * d multiply-adds.
#ifndef SR_MEASURE_CLUSTERS_ROW_DISTANCES_H
#define SR_MEASURE_CLUSTERS_ROW_DISTANCES_H

#include "measure/matrix.h"

// Computes the squared length of each row.  square: (n).
void sr_row_squares(const SrMatrix *rows, double *square);

// Computes the squared Euclidean distance of each row to `query` (d), at least 0.  square: (n) from
// sr_row_squares.  out: (n); FLT_MAX where a number is not finite.
void sr_row_distances(const SrMatrix *rows, const double *square, const float *query, float *out);

#endif
