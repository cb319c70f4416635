// Extracts features into files: of one tensor of images, or of a folder or list of images, in
// shards.
#ifndef SR_TRAINER_EVAL_EXTRACT_FILE_H
#define SR_TRAINER_EVAL_EXTRACT_FILE_H

#include "features/feature_source.h"

typedef struct {
    // Batch 0: chosen here.  Height and width are set from the images
    SrFeatureOptions features;
    const char *input; // a file of formats/ with "x" (N, 3, H, W), or
    const char *data;  // a folder of images, a list of them, an IDX or CIFAR folder
    const char *
        labels; // LABEL_PATHS of a list or of IDX files; NULL: the labels that come with the images
    bool test;  // the test images of a source that sets some apart
    const char *out; // one .safetensors for `input`; a folder for `data`
    bool nhwc;       // spatial features as (N, H, W, C) instead of (N, C, H, W)
    bool npy;        // shards as .npy instead of .safetensors
    int size;        // of the images' crop, 0: 224, or the configuration's
    int shard;       // images a shard, 0: as many as fit in 256 MiB
    bool force;      // replaces a file of `input` that is not features of ours
    int threads;     // that decode images
} SrExtractOptions;

// One tensor a tap, rows as in x.  In train mode all of x is one batch.  A file that is there
// already is replaced only if it is one of these.
SrStatus sr_extract_input(const SrExtractOptions *options, SrText *report);
// <out>/features-00000.safetensors and so on: taps, "labels" (-1: none), "valid" (0: an
// unreadable file, another image in its place), and the names "files" and "classes"
// (feature_names.h); or <tap>-00000.npy, labels-, valid-, files-, and classes.npy.  extract.json
// says what is extracted (extract_identity.h): shards that are there already are kept, and a
// folder of another extraction is refused.
SrStatus sr_extract_data(const SrExtractOptions *options, SrText *report);

#endif
