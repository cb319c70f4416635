// The names that lie beside features: of the images' files, row by row, and of the classes.
//
// In a container they are a tensor "files" or "classes" of bytes, (n, width), padded with zeros: in NumPy
// f["files"].view("S%d" % width).  Alone they are a .npy of strings.  Earlier extractions left the files as a JSON
// list in the metadata.
#ifndef SR_TRAINER_EVAL_FEATURE_NAMES_H
#define SR_TRAINER_EVAL_FEATURE_NAMES_H

#include <stdbool.h>

#include "base/tensor.h"
#include "data/sets/class_names.h"

typedef struct {
    SrStringList files;   // (n) of the images, "" where a row has none; empty for VISSL's files
    SrStringList classes; // by label; empty where nothing is known of them
} SrFeatureNames;

void sr_feature_names_deinit(SrFeatureNames *names);
// Does every one of the n images have a file?
bool sr_feature_names_files_known(const SrFeatureNames *names, int64_t n);

// Adds what the file at `path` has under `key` ("files", "classes"); nothing where it has no such names.  rows: how
// many there must be, -1: any number.  Something else under that key: SR_ERR_CONFIG.
SrStatus sr__feature_names_read(const char *path, const char *key, int64_t rows, SrStringList *out);
// The names as (n, width) U8; its data is the caller's to free with sr_free.
SrStatus sr__feature_names_tensor(const SrStringList *names, SrTensor *out);
// The names as a .npy of byte strings, as wide as the longest.
SrStatus sr__feature_names_save(const SrStringList *names, const char *path);

#endif
