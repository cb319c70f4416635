// Patches of images from layers of a model: maps of convolutional trunks, and the patch tokens of
// transformers.  Features come from trainer/features, and measure/patches/patch_maps.h makes
// patches of them.  The search for defects (anomaly.h) and segments (segment.h)
// stand on it.
#ifndef SR_FOLDER_PATCHES_PATCH_SOURCE_H
#define SR_FOLDER_PATCHES_PATCH_SOURCE_H

#include "folder/image_set.h"

typedef struct {
    const char *model;   // a run folder, a checkpoint, or the name of a model ("resnet18")
    const char *weights; // of a model's name.  NULL: drawn from a fixed seed
    // "res3,res4", finest first.  NULL: those, and for whole images the last layer that has a patch
    // for every 16 x 16 pixels or fewer
    const char *layers;
    // Pixels per side of what the model sees.  0: the evaluation's of a run, 224 for a model's
    // name.  Other sizes of a run need whole images
    int size;
    bool pool;  // average over 3 x 3 positions
    bool whole; // images are resized as a whole, not cropped, so that patches cover all of them
    bool drawn; // the trunk of a run keeps the weights that its seed draws, as an untrained one
} SrPatchOptions;

typedef struct SrPatchSource SrPatchSource;

SrStatus sr_patch_source_open(const SrPatchOptions *options, SrPatchSource **out);
void sr_patch_source_close(SrPatchSource *source);               // NULL is legal
const char *sr_patch_source_layers(const SrPatchSource *source); // names, "res3,res4"

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
// Computes the patches (rows * columns, dim) of one image file.  SR_ERR_IO: the image is bad.
SrStatus sr_patch_source_file(SrPatchSource *source, const char *path, float *patches);

// Computes the patches (rows * columns, dim) of every image of a set and calls `each` in the order
// of the set.  what: label of the bar.  SR_ERR_INTERRUPT: base/stop.h asked for an end.
typedef SrStatus (*SrEachPatches)(void *arg, int64_t image, bool good, const float *patches);
SrStatus sr_patch_source_each(SrPatchSource *source, const SrImageSet *images, const char *what,
                              SrEachPatches each, void *arg);

// Writes the pixels of image i as the model sees it, without normalisation.  rgb: (height, width,
// 3).  SR_ERR_IO: the image is bad.
SrStatus sr_patch_source_pixels(SrPatchSource *source, const SrImageSet *images, int64_t i,
                                uint8_t *rgb);

#endif
