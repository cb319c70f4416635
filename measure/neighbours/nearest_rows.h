// Exact nearest neighbours of every row among the other rows of the same set.
//
// The search is that of measure/neighbours/knn.h, by blocks.  Memory is a block of products, some
// blocks of rows and the k neighbours, never (n, n).  Rows have length 1, so that the distance is
// 1 - cosine: half of the squared Euclidean distance.
#ifndef SR_MEASURE_NEIGHBOURS_NEAREST_ROWS_H
#define SR_MEASURE_NEIGHBOURS_NEAREST_ROWS_H

#include "measure/row_view.h"

// Finds the k nearest other rows of each row, whatever the labels are.  row, distance: (n, k),
// nearest first; ties go to the smaller row; row NULL: not wanted.  A row that is not finite has
// no neighbours: -1 and NaN.  SR_ERR_CONFIG unless 1 <= k < n.
SrStatus sr_nearest_rows(const SrRowView *rows, int k, int64_t *row, float *distance);

#define SR_NEAREST_BY_CLASS 8 // largest k of sr_nearest_by_class

// Computes the mean distances to the k nearest other rows of the same class and to the k nearest
// rows of other classes.  Where there are fewer of one kind, both means are over that many.  same,
// other: (n); NaN where there is no such row, or the row has no label.  k: 1 to
// SR_NEAREST_BY_CLASS.
SrStatus sr_nearest_by_class(const SrRowView *rows, int k, float *same, float *other);

#endif
