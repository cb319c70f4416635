// How well a linear probe of dense features segments images with masks
// (measure/probes/pixel_probe.h), compared with the pixels themselves and with an untrained trunk.
//
// Every fifth image is held out of the fit, and all figures are of those images, at the size of
// their masks.
#ifndef SR_FOLDER_PATCHES_DENSE_PROBE_H
#define SR_FOLDER_PATCHES_DENSE_PROBE_H

#include "folder/patches/masks.h"
#include "folder/patches/patch_source.h"

#define SR_DENSE_HELD_OUT 5 // one image of each 5

typedef struct {
    SrPatchOptions patches; // `whole` and `drawn` are set here
    const char *masks;      // folder
    int steps;              // of the probe
    uint64_t seed;          // of the probe's draws
} SrDenseOptions;

// The features that a probe reads.
typedef enum {
    SR_DENSE_COLORS, // the colour of each pixel that the model sees
    SR_DENSE_PIXELS, // the pixels of each patch, averaged down to at most 8 x 8
    SR_DENSE_DRAWN,  // the trunk with the parameters that a seed draws
    SR_DENSE_TRUNK,
    SR_DENSE_ROWS
} SrDenseRow;

typedef struct {
    bool has;
    int rows, columns, dim; // of a map
    SrConfusion confusion;  // of the pixels of images held out
} SrDenseScore;

typedef struct {
    int classes;
    int value[SR_CONFUSION_CLASSES]; // (classes) numbers in the masks
    int64_t train, test;             // images fitted to, and held out
    int64_t bad, blank;              // images left out, as in SrMasks
    bool drawn;                      // the trunk itself has no weights: there is no row for it
    char layers[512];
    SrDenseScore score[SR_DENSE_ROWS];
} SrDenseReport;

// Receives what the trunk's probe predicts for an image held out: classes (mask->h, mask->w).
typedef SrStatus (*SrEachPrediction)(void *arg, int64_t image, const SrMask *mask,
                                     const uint8_t *predicted);

// Computes the report, which is too large for the stack.  each NULL: predictions are not wanted.
// SR_ERR_CONFIG: fewer than 5 images are left, or as in sr_masks_read.
SrStatus sr_dense_probe(const SrDenseOptions *options, const SrImageSet *images,
                        SrDenseReport *report, SrEachPrediction each, void *arg);

const char *sr_dense_row_name(const SrDenseReport *report, SrDenseRow row);

#endif
