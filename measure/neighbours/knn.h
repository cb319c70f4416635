// Weighted k-nearest-neighbour classification of frozen features (Wu et al.,
// "Unsupervised Feature Learning via Non-Parametric Instance Discrimination", CVPR 2018, section
// 3.4; VISSL's run_knn_at_layer).
//
// Similarity is the dot product, which is the cosine after L2 normalisation.  The k most similar
// training images vote for their class with weight exp(similarity / sigma).  Ties of similarity
// go to the smaller index, ties of votes to the smaller class.  The result therefore depends on
// the features alone.  A test row that is not finite has no neighbours and counts as a miss.
#ifndef SR_MEASURE_NEIGHBOURS_KNN_H
#define SR_MEASURE_NEIGHBOURS_KNN_H

#include "measure/row_view.h"

#define SR_KNN_TOP 5 // classes that are ranked for each image

typedef struct {
    double sigma; // temperature of the vote
    bool l2_norm; // rows of both sets get length 1 first
    // Reproduces VISSL's arithmetic.  VISSL does not shift weights by the largest similarity, so
    // they overflow in single precision if similarity / sigma > 88.  A class without a neighbour
    // then gets inf * 0 = NaN and wins.
    bool vissl_overflow;
} SrKnnOptions;

typedef struct {
    int k;             // neighbours, at most the labelled training images
    double top1, top5; // accuracy in per cent of the labelled test images
    int64_t n;         // test images with a label
    // sr_matrix_length_ratio of the training rows; 1 if they were normalised.  If it is well
    // above 1, the longest rows are neighbours of most images.
    double length_ratio;
} SrKnnResult;

// Classifies the test rows with each of the n_k numbers of neighbours in k, by one search.
// result: (n_k).  ranked: (n_k, test->n, SR_KNN_TOP) classes, best first, -1 where no class is
// left; NULL: not wanted.  options->l2_norm normalises the rows of both sets in place.
// SR_ERR_CONFIG: the sets have rows of different length, images have several labels, or no
// training image has a label.
SrStatus sr_knn(const SrKnnOptions *options, SrMatrix *train, SrMatrix *test, const int *k, int n_k,
                SrKnnResult *result, int64_t *ranked);

// Finds the k rows of `bank` that have the largest products with each query.  queries: (n,
// bank->d). row, similarity: (n, k) row numbers and products, best first; ties go to the smaller
// row.  Rows with label -1 are left out.  If fewer than k rows are left, or a query is not
// finite, row is -1 and similarity NaN.  SR_ERR_CONFIG unless 1 <= k <= bank->n.  Thread-safe.
SrStatus sr_knn_nearest(const SrRowView *bank, const float *queries, int64_t n, int k, int64_t *row,
                        float *similarity);

// Returns the accuracy of always predicting the class that is most frequent in `train`, in per
// cent of the labelled test rows.  Ties go to the smaller class.  0: one side has no labels.
double sr_knn_majority(const SrMatrix *train, const SrMatrix *test);

#endif
