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

typedef struct {
    double perplexity; // about the number of neighbours of a point; reduced to a third of the rows
    int iterations;
} SrTsneOptions;
#define SR_TSNE_DEFAULT ((SrTsneOptions){.perplexity = 30, .iterations = 400})

// Computes points out (n, 2) from the rows' first 30 principal components.  It starts from the
// first two components, so it draws nothing.  Fewer than 4 rows give zeros.
SrStatus sr_tsne(const SrMatrix *f, const SrTsneOptions *options, float *out);

#endif
