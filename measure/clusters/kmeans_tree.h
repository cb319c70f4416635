// Hierarchical k-means and balanced samples of it (Vo et al., "Automatic Data Curation for
// Self-Supervised Learning: A Clustering-Based Approach", TMLR 2024, sections 3.2 and 3.3).
//
// Level 0 clusters the rows, and level l the centres of level l - 1.  The centres of a level spread
// more evenly over the data than the rows do, so that a sample with equal shares for all clusters
// of the highest level, and then of the levels below, is balanced.  The paper's resampling of
// centres between levels is not done.
#ifndef SR_MEASURE_CLUSTERS_KMEANS_TREE_H
#define SR_MEASURE_CLUSTERS_KMEANS_TREE_H

#include "measure/row_view.h"

#define SR_KMEANS_TREE_LEVELS 4

typedef struct {
    int levels;
    int64_t n;                    // rows
    int k[SR_KMEANS_TREE_LEVELS]; // clusters of each level, falling
    // label[0]: (n) cluster of each row.  label[l]: (k[l - 1]) cluster of each cluster below.
    int64_t *label[SR_KMEANS_TREE_LEVELS];
} SrKmeansTree;

// Clusters the rows by k-means with Euclidean distances.  k: (levels) numbers of clusters.  Free
// *out with sr_kmeans_tree_deinit, also after a failure.  SR_ERR_CONFIG: the numbers do not fall,
// or are above the number of rows.
SrStatus sr_kmeans_tree(const SrRowView *rows, const int *k, int levels, uint64_t seed,
                        SrKmeansTree *out);
void sr_kmeans_tree_deinit(SrKmeansTree *tree);

// Chooses `count` rows.  The clusters of the highest level get equal shares; one that has fewer
// rows than its share gives all, and the others share the rest.  The same is done inside each
// cluster, and rows of a lowest cluster are drawn at random.  chosen: (count), rising.
// SR_ERR_CONFIG: count is not from 1 to n.
SrStatus sr_balanced_sample(const SrKmeansTree *tree, int64_t count, uint64_t seed,
                            int64_t *chosen);

#endif
