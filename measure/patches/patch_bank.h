// PatchCore's bank of normal patches and its scores (Roth et al., "Towards Total Recall in
// Industrial Anomaly Detection", CVPR 2022, sections 3.2 and 3.3).
//
// The bank is a greedy k-centre choice (measure/clusters/k_centre.h) of the training patches, made
// in a sparse random projection (Li, Hastie and Church, "Very Sparse Random Projections", KDD
// 2006).  A patch scores its distance to the nearest patch of the bank.
#ifndef SR_MEASURE_PATCHES_PATCH_BANK_H
#define SR_MEASURE_PATCHES_PATCH_BANK_H

#include "measure/matrix.h"

#define SR_PATCH_NEIGHBOURS 9 // patches around the nearest one that weigh an image's score

// Projects rows (n, d) to `dims` numbers.  Each entry of the matrix (dims, d) is 0, or plus or
// minus sqrt(sqrt(d) / dims) with probability 1 / (2 sqrt(d)) each.  out: from sr_matrix_init
// (n, dims).  SR_ERR_MEMORY: out of memory.
SrStatus sr_patch_project(const SrMatrix *rows, int dims, uint64_t seed, SrMatrix *out);

// Chooses `keep` patches.  The first choice is the patch nearest to the mean.  bank: new rows of
// patches->d + 1 numbers; the last is minus half of the squared length, so that a product ranks
// by distance.  dims: 0: no projection.  SR_ERR_CONFIG: fewer patches than `keep` are finite.
SrStatus sr_patch_bank(const SrMatrix *patches, int64_t keep, int dims, uint64_t seed,
                       SrMatrix *bank);

// Scores patches of one image.  patches: (n, bank->d - 1).  score: (n) Euclidean distance to the
// nearest patch of the bank.  *image: the largest score s, times 1 - exp(s) / sum of exp(distance
// to the SR_PATCH_NEIGHBOURS patches of the bank that are nearest to the nearest one), equation 7.
// NaN if a patch is not finite.
// SR_ERR_MEMORY: out of memory.
SrStatus sr_patch_scores(const SrMatrix *bank, const float *patches, int64_t n, float *score,
                         double *image);

#endif
