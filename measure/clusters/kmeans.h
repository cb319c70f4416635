// k-means of features (Lloyd, "Least squares quantization in PCM", 1982; first centres by
// k-means++, Arthur and Vassilvitskii, SODA 2007).  ClusterFit (Yan et al., CVPR 2020) and
// DeepCluster train on the clusters.
//
// Distances come from matrix products in blocks of fixed size, and sums run in the order of the
// rows. The result therefore depends on rows, options and seed, but not on the number of
// threads.  Ties go to the smaller centre.
#ifndef SR_MEASURE_CLUSTERS_KMEANS_H
#define SR_MEASURE_CLUSTERS_KMEANS_H

#include <stdbool.h>

#include "measure/row_view.h"

typedef struct {
    int k, iterations; // clusters; most iterations
    uint64_t seed;     // for k-means++
    // Centres have length 1 and are compared by their product; the rows must have length 1 too.
    bool spherical;
    const int64_t *first; // (k) rows that are the first centres; NULL: k-means++
    // An empty cluster keeps its centre.  false: it gets the row that is farthest from its own
    // centre.
    bool keep_empty;
} SrKmeansOptions;

typedef struct {
    int k, d;
    float *centre; // (k, d)
    bool spherical;
    int iterations; // iterations done; fewer than asked for if no row changed its cluster
} SrKmeans;

// Clusters the rows.  The caller frees *out with sr_kmeans_deinit.  SR_ERR_CONFIG: there are fewer
// rows than k.
SrStatus sr_kmeans(const SrKmeansOptions *options, const SrRowView *rows, SrKmeans *out);
void sr_kmeans_deinit(SrKmeans *kmeans);
// Finds the nearest centre of each row.  label: (n).  distance: (n) squared distance, or 1 -
// product if spherical; NULL: not wanted.
SrStatus sr_kmeans_assign(const SrKmeans *kmeans, const SrRowView *rows, int64_t *label,
                          float *distance);

// Computes the share of labelled rows whose label is the most frequent one of their cluster.
// cluster: (n) 0 to k - 1.  *out: per cent; -1: there are no labels, or several per image.
SrStatus sr_kmeans_purity(const SrMatrix *rows, const int64_t *cluster, int k, double *out);

#endif
