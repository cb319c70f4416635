// PaDiM: one Gaussian for each position of a map (Defard et al., "PaDiM: a Patch Distribution
// Modeling Framework for Anomaly Detection and Localization", ICPR 2020).  It is cheap because it
// needs one pass over the training images and no search.
#ifndef SR_MEASURE_PATCHES_PATCH_GAUSS_H
#define SR_MEASURE_PATCHES_PATCH_GAUSS_H

#include "measure/matrix.h"

#define SR_PATCH_GAUSS_RIDGE 0.01 // added to each variance

typedef struct {
    int positions, d;
    int64_t n;    // images that were added
    double *mean; // (positions, d) sums until sr_patch_gauss_finish
    // (positions, d (d + 1) / 2) lower triangles: sums of products, then the Cholesky factor of the
    // covariance with the ridge
    double *factor;
} SrPatchGauss;

// Allocates for maps of `positions` patches of d numbers: 4 d d bytes a position.
SrStatus sr_patch_gauss_init(int positions, int d, SrPatchGauss *out);
void sr_patch_gauss_deinit(SrPatchGauss *gauss);
// Adds one training image.  patches: (positions, d).
void sr_patch_gauss_add(SrPatchGauss *gauss, const float *patches);
// Computes means and factors.  SR_ERR_CONFIG: fewer than two images were added, or a number is not
// finite.
SrStatus sr_patch_gauss_finish(SrPatchGauss *gauss);
// Computes the Mahalanobis distance of each patch of an image.  patches: (positions, d).  score:
// (positions).  *image: the largest.  SR_ERR_MEMORY: out of memory.
SrStatus sr_patch_gauss_scores(const SrPatchGauss *gauss, const float *patches, float *score,
                               double *image);

// Draws `keep` of d channels, rising, which stand for all of them.  channel: (keep); keep <= d.
SrStatus sr_patch_channels(int d, int keep, uint64_t seed, int *channel);

#endif
