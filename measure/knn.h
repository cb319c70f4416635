// Weighted k-nearest-neighbour classification of frozen features (Wu et al.,
// "Unsupervised Feature Learning via Non-Parametric Instance Discrimination", CVPR 2018, section
// 3.4; VISSL's run_knn_at_layer).
//
// similarity = dot product (cosine after L2 normalisation); the k most similar training images vote
// for their class with weight exp(similarity / sigma).  Ties of similarity go to the smaller index,
// ties of votes to the smaller class, so the outcome depends on nothing but the features.  A test
// row that is not finite has no neighbours and counts as a miss.
#ifndef SR_MEASURE_KNN_H
#define SR_MEASURE_KNN_H

#include "measure/matrix.h"

#define SR_KNN_TOP 5 // classes ranked for each image

typedef struct {
    double sigma;
    bool l2_norm;
    // VISSL's arithmetic to the letter: weights are not shifted by the largest similarity, so in
    // single precision they overflow when similarity / sigma > 88, and a class that is no
    // neighbour's gets inf * 0 = NaN and wins.
    bool vissl_overflow;
} SrKnnOptions;

typedef struct {
    int k;             // as asked, at most the number of training images
    double top1, top5; // per cent
    int64_t n;         // test images with a label
    // sr_matrix_length_ratio of the training rows, 1 where they were normalised.  Above 1 the
    // longest rows are everybody's neighbours.
    double length_ratio;
} SrKnnResult;

// One search for the largest k serves all.  result: n_k entries.  ranked: (n_k, test->n,
// SR_KNN_TOP) classes, best first, -1 beyond the number of classes; NULL if not wanted.  Normalises
// rows of both sets in place when asked.
SrStatus sr_knn(const SrKnnOptions *options, SrMatrix *train, SrMatrix *test, const int *k, int n_k,
                SrKnnResult *result, int64_t *ranked);

// The k rows of `bank` with the largest products with each of n queries (n, bank->d), best first, ties to the smaller
// row: their numbers and the products, (n, k).  Rows with label -1 are left out; 1 <= k <= those left.  Thread-safe.
SrStatus sr_knn_nearest(const SrMatrix *bank, const float *queries, int64_t n, int k, int64_t *row,
                        float *similarity);

// The test score of always naming the class that is most frequent in `train`, per cent of the labelled test rows; ties
// go to the smaller class.  0 where one side has no labels.
double sr_knn_majority(const SrMatrix *train, const SrMatrix *test);

#endif
