// Names that are stored with features: of the images' files, row by row, and of the classes.
//
// In a container they are a tensor "files" or "classes" of bytes, (n, width), padded with zeros.
// NumPy reads it as f["files"].view("S%d" % width).  In an .npz, and in separate .npy files, they
// are an array of byte strings.  Older
// extractions have the files as a JSON list in the metadata.
#ifndef SR_TRAINER_EVAL_EXTRACT_FEATURE_NAMES_H
#define SR_TRAINER_EVAL_EXTRACT_FEATURE_NAMES_H

#include <stdbool.h>

#include "base/tensor.h"
#include "data/sets/class_names.h"

typedef struct {
    SrStringList files;   // (n) of the images, "" where a row has none; empty for VISSL's files
    SrStringList classes; // by label; empty where nothing is known of them
} SrFeatureNames;

void sr_feature_names_deinit(SrFeatureNames *names);
// True if every one of the n images has a file.
bool sr_feature_names_files_known(const SrFeatureNames *names, int64_t n);

// Adds the names that the file at `path` has under `key` ("files", "classes"); none is no error.
//   rows  the number that there must be.  -1: any number
// SR_ERR_CONFIG: the key holds something else.
SrStatus sr__feature_names_read(const char *path, const char *key, int64_t rows, SrStringList *out);
// Makes a tensor of the names, (n, width) U8; the caller frees its data with sr_free.
SrStatus sr__feature_names_tensor(const SrStringList *names, SrTensor *out);
// Saves the names as a .npy of byte strings, as wide as the longest.
SrStatus sr__feature_names_save(const SrStringList *names, const char *path);

#endif
