// Patches of two images that correspond: pairs of which each is the nearest to the other by cosine.
#ifndef SR_MEASURE_PATCHES_PATCH_MATCH_H
#define SR_MEASURE_PATCHES_PATCH_MATCH_H

#include "base/status.h"

typedef struct {
    int a, b; // rows
    float cosine;
} SrPatchPair;

// Finds the pairs of rows of length 1, a (na, d) and b (nb, d), the most similar first.  Ties go to
// smaller rows.  Rows of zeros have no partner.  out: (min(na, nb)), of which *n are written.
SrStatus sr_patch_match(const float *a, int na, const float *b, int nb, int d, SrPatchPair *out,
                        int *n);

// Moves pairs that are spread over the first image, whose patches are in rows of `columns`, to the
// front, and returns their number, at most `count`.  They are chosen one by one, the most similar
// first, as far apart as `count` allows: 4 places, then 2, then 1.  Their order is by similarity.
int sr_patch_spread(SrPatchPair *pair, int n, int columns, int count);

#endif
