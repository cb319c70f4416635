// Distances of all rows to one row: the inner step of spanning trees and of k-centre.
//
// Rows are cut into blocks of fixed size, so that the bits depend neither on the number of threads
// nor on where the rows lie.  One call costs n * d multiply-adds.
#ifndef SR_MEASURE_CLUSTERS_ROW_DISTANCES_H
#define SR_MEASURE_CLUSTERS_ROW_DISTANCES_H

#include "measure/row_view.h"

typedef struct {
    const SrRowView *rows;
    double *square; // (n) squared length of each row; not finite for a row that is not
    float *space;   // a block per thread; NULL: the rows lie in memory
} SrRowDistances;

// Reads all rows once for their lengths.  Free *out with sr_row_distances_deinit, also after a
// failure.  SR_ERR_MEMORY: out of memory.
SrStatus sr_row_distances_init(const SrRowView *rows, SrRowDistances *out);
void sr_row_distances_deinit(SrRowDistances *distances); // legal for a zeroed struct

// Computes the squared Euclidean distance of each row to `query` (d), at least 0.  out: (n);
// FLT_MAX where a number is not finite.
void sr_row_distances(const SrRowDistances *distances, const float *query, float *out);

#endif
