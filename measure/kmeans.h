// k-means of features (Lloyd 1982; first centres by k-means++, Arthur & Vassilvitskii, SODA 2007): the labels that
// ClusterFit (Yan et al., CVPR 2020) and DeepCluster train on.
//
// Distances come from matrix products in blocks of fixed size and sums run in the order of the rows, so the outcome
// follows from (rows, k, seed) for any number of threads.  Ties go to the smaller centre.
#ifndef SR_MEASURE_KMEANS_H
#define SR_MEASURE_KMEANS_H

#include <stdbool.h>

#include "measure/matrix.h"

typedef struct {
    int k, iterations;
    uint64_t seed;
    bool spherical; // centres have length 1 and are compared by their product: for rows of length 1
    const int64_t *first; // (k) rows that are the first centres; NULL: k-means++
    bool keep_empty;      // a cluster that empties keeps its centre
} SrKmeansOptions;

typedef struct {
    int k, d;
    float *centre; // (k, d)
    bool spherical;
    int iterations; // done; fewer than asked when no row moves any more
} SrKmeans;

// Fewer rows than k: SR_ERR_CONFIG.  A cluster that empties gets the row that lies
// farthest from its centre, unless keep_empty.
SrStatus sr_kmeans(const SrKmeansOptions *options, const SrMatrix *rows, SrKmeans *out);
void sr_kmeans_deinit(SrKmeans *kmeans);
// label (n): the nearest centre.  distance (n), may be NULL: squared distance, or 1 - product.
SrStatus sr_kmeans_assign(const SrKmeans *kmeans, const SrMatrix *rows, int64_t *label,
                          float *distance);

// *out: the share of rows whose label is the most frequent one of their cluster, per cent; -1 without labels.
// cluster (n): 0 .. k - 1.
SrStatus sr_kmeans_purity(const SrMatrix *rows, const int64_t *cluster, int k, double *out);

#endif
