// Figures about embeddings that need no labels: how far they spread, in how many directions, and
// whether the views of an image agree.
#ifndef SR_MEASURE_REPRESENTATION_H
#define SR_MEASURE_REPRESENTATION_H

#include "base/status.h"

typedef struct {
    int rows; // rows of a view that were used
    // Mean over features of the standard deviation of unit rows, times sqrt(D).  0: all rows are
    // equal.  Near 1: rows point in all directions (Chen and He, SimSiam, CVPR 2021, section 4.1).
    double deviation;
    // exp of the entropy of the singular values, from 1 to min(rows, D) (RankMe: Garrido et al.,
    // ICML 2023, arXiv:2210.02885, equation 1).
    double effective_rank;
    // alignment: mean squared distance of two views of an image; -1 with one view.  uniformity:
    // ln of the mean of exp(-2 |x - y|^2) over pairs of images.  Both are of unit rows (Wang and
    // Isola, ICML 2020, arXiv:2005.10242, equations 1 and 2).
    double alignment, uniformity;
    // Share of images whose second view is the nearest second view of their first, by cosine.
    // Chance is 1 / rows; -1 with one view.
    double views_found;
} SrRepresentation;

enum { SR_REPRESENTATION_ROWS = 128 };

// Measures embeddings x (views * n, D), view-major.  The first SR_REPRESENTATION_ROWS rows of a
// view count, and the first two views.  SR_ERR_CONFIG: n < 2.  SR_ERR_MEMORY: out of memory.
SrStatus sr_representation_measure(const float *x, int views, int n, int D, SrRepresentation *out);

#endif
