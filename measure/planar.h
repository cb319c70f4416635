// Projections of features to a plane, for pictures: principal components (measure/pca.c), and
// exact t-SNE for at most a few thousand rows (measure/tsne.c; van der Maaten and Hinton,
// "Visualizing data using t-SNE", JMLR 2008).
//
// The points do not depend on the number of threads.
#ifndef SR_MEASURE_PLANAR_H
#define SR_MEASURE_PLANAR_H

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

typedef struct {
    double perplexity; // about the number of neighbours of a point; reduced to a third of the rows
    int iterations;
} SrTsneOptions;
#define SR_TSNE_DEFAULT ((SrTsneOptions){.perplexity = 30, .iterations = 400})

// Computes points out (n, 2) from the rows' first 30 principal components.  It starts from the
// first two components, so it draws nothing.  Fewer than 4 rows give zeros.
SrStatus sr_tsne(const SrMatrix *f, const SrTsneOptions *options, float *out);

#endif
