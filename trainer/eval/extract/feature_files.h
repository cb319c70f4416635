// Reads features from files that `sslrun extract --data`, VISSL's extract_features or NumPy wrote.
//
//   a folder with features-00000.safetensors    sslrun extract: layers, `labels`, `valid`
//   a folder with features-00000.npz            sslrun extract --format npz: the same arrays
//   a folder with LAYER-00000.npy               sslrun extract --format npy, with labels-00000.npy
//   a folder with rank0_chunk0_train_LAYER_features.npy
//                                               VISSL: rows sorted by *_inds.npy, each once
//   one .safetensors, .npz, .pth                LAYER (or features, x), labels (or targets, y)
//   one .npy                                    features without labels
//
// Labels of more than one column are VISSL's multi-label targets (1, 0, -1).  Features of any
// rank are read as one row per image.
#ifndef SR_TRAINER_EVAL_EXTRACT_FEATURE_FILES_H
#define SR_TRAINER_EVAL_EXTRACT_FEATURE_FILES_H

#include "measure/matrix.h"
#include "trainer/eval/extract/feature_names.h"

typedef struct {
    const char *path;
    const char *layer; // NULL: the only layer of the files
    const char *split; // "train" or "test": chooses among VISSL's files of a folder
    // Rows of images that could not be read are left out.  False: they stay, with the label -1,
    // so that rows and images line up.
    bool readable_only;
} SrFeatureFiles;

// Sets *out if `split` chooses between two sides of a path (VISSL's folders).  False: every split
// reads the same rows.
SrStatus sr_features_by_split(const SrFeatureFiles *from, bool *out);

// Rows and the numbers of each, from the headers alone; errors as below.
SrStatus sr_features_measure(const SrFeatureFiles *from, int64_t *n, int *d);

// names: receives those that the extraction left, the caller frees them also after a failure; may
// be NULL.  With readable_only it receives no files' names.  Missing, damaged, ambiguous (the
// layers are listed), unlike rows, numbers that are not finite, fewer or more images than
// extract.json says: SR_ERR_CONFIG.
SrStatus sr_features_load(const SrFeatureFiles *from, SrMatrix *out, SrFeatureNames *names);

#endif
