// Patches of images from middle layers of a model, for the search for defects (folder/anomaly.h).
// Features come from trainer/features, and measure/patches/patch_maps.h makes patches of them.
#ifndef SR_FOLDER_PATCH_SOURCE_H
#define SR_FOLDER_PATCH_SOURCE_H

#include "folder/image_set.h"

typedef struct {
    const char *model;   // a run folder, a checkpoint, or the name of a model ("resnet18")
    const char *weights; // of a model's name.  NULL: drawn from a fixed seed
    const char *layers;  // "res3,res4", finest first.  NULL: those
    int size;            // pixels of the crop, for the name of a model.  0: 224
    bool pool;           // average over 3 x 3 positions
} SrPatchOptions;

typedef struct SrPatchSource SrPatchSource;

SrStatus sr_patch_source_open(const SrPatchOptions *options, SrPatchSource **out);
void sr_patch_source_close(SrPatchSource *source); // NULL is legal

// Return rows and columns of the map of patches, and numbers of a patch.
int sr_patch_source_rows(const SrPatchSource *source);
int sr_patch_source_columns(const SrPatchSource *source);
int sr_patch_source_dim(const SrPatchSource *source);
// Return pixels of the image that the model sees.
int sr_patch_source_height(const SrPatchSource *source);
int sr_patch_source_width(const SrPatchSource *source);

// Computes patches (rows * columns, dim) of images first to first + n - 1 of a set; n is at most
// sr_patch_source_batch.  good: (n) false: the image cannot be read, and its patches are zeros.
SrStatus sr_patch_source_run(SrPatchSource *source, const SrImageSet *images, int64_t first, int n,
                             bool *good, float *patches);
int sr_patch_source_batch(const SrPatchSource *source);

// Writes the pixels of image i as the model sees it, without normalisation.  rgb: (height, width,
// 3).  SR_ERR_IO: the image is bad.
SrStatus sr_patch_source_pixels(SrPatchSource *source, const SrImageSet *images, int64_t i,
                                uint8_t *rgb);

#endif
