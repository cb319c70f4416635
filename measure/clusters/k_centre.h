// Greedy k-centre: chooses rows so that every row is near a chosen one (Gonzalez, "Clustering to
// minimize the maximum intercluster distance", 1985; Sener and Savarese, ICLR 2018, for labels;
// Roth et al., CVPR 2022, for the bank of PatchCore).
//
// Each step takes the row that is farthest from all rows chosen so far, so that each prefix of the
// result is a choice too.  Memory is O(n) next to the rows, the cost n * d multiply-adds per chosen
// row.
#ifndef SR_MEASURE_CLUSTERS_K_CENTRE_H
#define SR_MEASURE_CLUSTERS_K_CENTRE_H

#include "measure/row_view.h"

typedef struct {
    const int64_t *have; // (n_have) rows that were chosen earlier; NULL: none
    int64_t n_have;
    const int8_t *allowed; // (n) 1: the row may be chosen; NULL: all rows may
    // First choice if n_have is 0.  -1: the row that is nearest to the mean of all rows
    int64_t first;
} SrKCentreOptions;

// Chooses k rows by Euclidean distance.  Ties go to the smaller row.  chosen: (k).  radius: (k)
// distance of each choice to the choices in front of it and to `have`, infinite for the first of
// all; NULL: not wanted.  SR_ERR_CONFIG: fewer than k rows may be chosen and are finite.
SrStatus sr_k_centre(const SrKCentreOptions *options, const SrRowView *rows, int64_t k,
                     int64_t *chosen, float *radius);

#endif
