// Exact t-SNE for at most a few thousand rows (van der Maaten and Hinton, "Visualizing data using
// t-SNE", JMLR 2008).  The points do not depend on the number of threads.
#ifndef SR_MEASURE_TSNE_H
#define SR_MEASURE_TSNE_H

#include "measure/matrix.h"

typedef struct {
    double perplexity; // about the number of neighbours of a point; reduced to a third of the rows
    int iterations;
} SrTsneOptions;
#define SR_TSNE_DEFAULT ((SrTsneOptions){.perplexity = 30, .iterations = 400})

// Computes points out (n, 2) from the rows' first 30 principal components.  It starts from the
// first two components, so it draws nothing.  Fewer than 4 rows give zeros.
SrStatus sr_tsne(const SrMatrix *f, const SrTsneOptions *options, float *out);

#endif
