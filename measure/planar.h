// Features of many numbers as points of a plane, for the eye: principal components, and t-SNE (van der Maaten and Hinton,
// "Visualizing data using t-SNE", JMLR 2008), exact, for at most some thousand rows.
//
// The same rows give the same points for any number of threads.
#ifndef SR_MEASURE_PLANAR_H
#define SR_MEASURE_PLANAR_H

#include "measure/matrix.h"

// out (n, k): centred rows on their first k principal components, the first the widest; the sign is such that the largest
// weight of a component is positive.  k at most f->d; components beyond the rank are 0.  *share, may be NULL: of the
// variance that they hold together.
SrStatus sr_pca(const SrMatrix *f, int k, float *out, double *share);

typedef struct {
    double
        perplexity; // about how many neighbours a point has; at most a third of the rows is taken
    int iterations;
} SrTsneOptions;
#define SR_TSNE_DEFAULT ((SrTsneOptions){.perplexity = 30, .iterations = 400})

// out (n, 2), from the rows' first 30 principal components; it begins from the first two, so that nothing is drawn.
SrStatus sr_tsne(const SrMatrix *f, const SrTsneOptions *options, float *out);

#endif
