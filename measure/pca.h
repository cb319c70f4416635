// Principal components of features.  The results do not depend on the number of threads.
#ifndef SR_MEASURE_PCA_H
#define SR_MEASURE_PCA_H

#include "measure/matrix.h"

// Projects the centred rows on their first k principal components, by falling variance.  The sign
// of a component makes its largest weight positive.  out: (n, k), with k <= f->d; components
// beyond the rank are 0.  *share: share of the variance in these components, 0 to 1; NULL: not
// wanted.
SrStatus sr_pca(const SrMatrix *f, int k, float *out, double *share);

// Mean and directions of rows, to project other rows too.  sr_pca_fit makes it, sr_pca_deinit frees
// it.
typedef struct {
    int k, d;
    float *axis;  // (k, d) orthogonal directions of length 1, by falling variance; signs as above
    float *mean;  // (d)
    double share; // of the variance of the fitted rows, 0 to 1
} SrPca;

// Fits the first k directions, k <= f->d.  Directions beyond the rank are 0.
SrStatus sr_pca_fit(const SrMatrix *f, int k, SrPca *out);
void sr_pca_deinit(SrPca *pca); // legal for a zeroed struct
// Projects n rows x (n, d).  out: (n, k).
void sr_pca_project(const SrPca *pca, const float *x, int64_t n, float *out);

#endif
