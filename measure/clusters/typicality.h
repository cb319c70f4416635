// Chooses typical rows of all clusters (TypiClust; Hacohen, Dekel and Weinshall, "Active Learning
// on a Budget: Opposite Strategies Suit High and Low Budgets", ICML 2022, section 3.2).
//
// Rows are clustered into as many clusters as there are rows to choose, at most
// SR_TYPICALITY_CLUSTERS.  The next choice is the most typical free row of the cluster that has
// the fewest chosen rows, the largest of several; clusters of fewer than five rows come last.
// The typicality of a row is 1 / its mean distance to the 20 nearest rows of its cluster.
#ifndef SR_MEASURE_CLUSTERS_TYPICALITY_H
#define SR_MEASURE_CLUSTERS_TYPICALITY_H

#include "measure/row_view.h"

#define SR_TYPICALITY_CLUSTERS 500
#define SR_TYPICALITY_NEIGHBOURS 20

typedef struct {
    const int64_t *have; // (n_have) rows that were chosen earlier; NULL: none
    int64_t n_have;
    uint64_t seed; // of the clusters
} SrTypicalityOptions;

// Chooses k rows of length 1; each prefix of the result is a choice.  chosen: (k).  typicality: (n)
// of all rows, 0 for a row alone in its cluster; NULL: not wanted.  SR_ERR_CONFIG: fewer than k
// rows are free.
SrStatus sr_typical_rows(const SrTypicalityOptions *options, const SrRowView *rows, int64_t k,
                         int64_t *chosen, float *typicality);

// Computes the typicality of each row among all rows, without clusters.  typicality: (n).
SrStatus sr_typicality(const SrRowView *rows, float *typicality);

#endif
