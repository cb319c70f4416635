// Defects on parts that look alike: patches of an image are compared with patches of good images.
//
// Two methods: PatchCore's bank (measure/patches/patch_bank.h) and PaDiM's Gaussians
// (measure/patches/patch_gauss.h), which are cheaper.  Every fifth good image is held out of the
// fit; its score gives the threshold.  anomaly_file.h keeps a fitted detector in a file.
#ifndef SR_FOLDER_PATCHES_ANOMALY_H
#define SR_FOLDER_PATCHES_ANOMALY_H

#include "folder/patches/patch_source.h"
#include "measure/matrix.h"
#include "measure/patches/patch_gauss.h"

#define SR_ANOMALY_HELD_OUT 5     // one image of each 5
#define SR_ANOMALY_DIMS 128       // of PatchCore's projection
#define SR_ANOMALY_CHANNELS 100   // of PaDiM, at most
#define SR_ANOMALY_BANK_SHARE 0.1 // of the patches, as in the paper, up to `bank`
#define SR_ANOMALY_SIGMA 4.0      // pixels by which heat maps are smoothed

typedef struct {
    SrPatchOptions patches; // `pool` is set by the method
    bool padim;
    int64_t bank;        // most patches of PatchCore's bank, below 2^31
    size_t memory;       // most bytes of patches and of what is made of them
    double false_alarms; // share of good images above the threshold, 0 to 1
    uint64_t seed;
} SrAnomalyOptions;

typedef struct {
    SrPatchSource *source;
    bool padim;
    SrMatrix bank;      // of PatchCore (measure/patches/patch_bank.h)
    SrPatchGauss gauss; // of PaDiM
    int *channel;       // (gauss.d) channels of a patch that PaDiM uses
    double threshold;   // images with a larger score are defective
    int64_t images;     // good images that were read
    int64_t bad;        // images that could not be read
    int64_t patches;    // patches that the bank was chosen from
} SrAnomaly;

// Fits a detector to the images at `data`, which are all good.  Free *out with sr_anomaly_deinit,
// also after a failure.  SR_ERR_CONFIG: fewer than 5 images, or `memory` is too small.
SrStatus sr_anomaly_fit(const SrAnomalyOptions *options, const char *data, SrAnomaly *out);
void sr_anomaly_deinit(SrAnomaly *anomaly); // legal for a zeroed struct

// Scores all images of a set in their order and calls `each` for every one.
//   good   false: the image cannot be read; score is NaN
//   score  of the image
//   map    (rows, columns) of the patches
typedef SrStatus (*SrAnomalyEach)(void *arg, int64_t image, bool good, double score,
                                  const float *map);
SrStatus sr_anomaly_score(SrAnomaly *anomaly, const SrImageSet *images, SrAnomalyEach each,
                          void *arg);

// Computes the area under the ROC curve: the probability that a defective image scores above a
// good one, ties counting half.  *out: -1 without one of the two.  defective: (n) 1 or 0.
SrStatus sr_auroc(const double *score, const int8_t *defective, int64_t n, double *out);

#endif
