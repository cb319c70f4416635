// How good embeddings are without labels: do they spread, in how many directions, and do the views of an image agree?
#ifndef SR_MEASURE_REPRESENTATION_H
#define SR_MEASURE_REPRESENTATION_H

#include "base/status.h"

typedef struct {
    int rows; // looked at, of one view
    // Mean over features of the deviation of unit rows, times sqrt(D): 0 where all rows are one, near 1 where they point
    // everywhere (Chen and He, SimSiam, CVPR 2021, section 4.1).
    double deviation;
    // exp of the entropy of the singular values: 1 .. min(rows, D) (RankMe: Garrido et al., ICML 2023, arXiv:2210.02885,
    // equation 1).
    double effective_rank;
    // Mean squared distance of two views of an image, and ln of the mean of exp(-2 |x - y|^2) over pairs of images, of
    // unit rows (Wang and Isola, ICML 2020, arXiv:2005.10242, equations 1 and 2).  alignment is -1 with one view.
    double alignment, uniformity;
} SrRepresentation;

enum { SR_REPRESENTATION_ROWS = 128 };

// x: (views * n, D), view-major; the first SR_REPRESENTATION_ROWS rows of a view count.  Allocates.  SR_ERR_CONFIG below two
// rows; SR_ERR_MEMORY.
SrStatus sr_representation_measure(const float *x, int views, int n, int D, SrRepresentation *out);

#endif
