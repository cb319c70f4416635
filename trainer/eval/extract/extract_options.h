// Options of an extraction of features into files: of one tensor of images (extract_input.h), or of
// a folder or list of images (extract_data.h).
#ifndef SR_TRAINER_EVAL_EXTRACT_EXTRACT_OPTIONS_H
#define SR_TRAINER_EVAL_EXTRACT_EXTRACT_OPTIONS_H

#include "trainer/eval/extract/extract_shard.h"
#include "trainer/features/feature_source.h"

typedef struct {
    // Trunk, layers, weights.  Height and width are set by the extraction, and a batch of 0 too
    SrFeatureOptions features;
    const char *input; // a file of formats/ with "x" (N, 3, H, W).  NULL: `data`
    const char *data;  // a folder of images, a list of them, an IDX or CIFAR folder
    // LABEL_PATHS of a list or of IDX files; NULL: the labels that come with the images
    const char *labels;
    bool test;              // takes the test images of a source that sets some apart
    const char *out;        // one .safetensors for `input`; a folder for `data`
    SrExtractFormat format; // of the shards; `input` always writes .safetensors
    bool nhwc;              // spatial features as (N, H, W, C) instead of (N, C, H, W)
    int size;               // pixels per side of the crop.  0: the configuration's, or 224
    int shard;              // images per shard.  0: as many as fit in 256 MiB
    bool force;             // replaces a file that no extraction wrote
    int threads;            // threads that decode images
} SrExtractOptions;

#endif
