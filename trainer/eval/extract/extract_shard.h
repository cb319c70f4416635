// Writes one shard of extracted features: the rows of some images with labels and file names.
//
//   safetensors  features-00000.safetensors: a F32 tensor per layer, `labels` (I64; -1: none),
//                `valid` (U8; 0: an unreadable file, whose features are those of a grey image),
//                `files` and, if classes have names, `classes` (feature_names.h)
//   npz          features-00000.npz: the same as NumPy arrays; names are byte strings
//   npy          LAYER-00000.npy, labels-, valid- and files-00000.npy, and one classes.npy
//   csv          features-00000.csv: a line per image, RFC 4180 except that lines end with \n.
//                Columns: file, label (label_0 ... for several), class, valid, then
//                LAYER_0 ... LAYER_<n - 1> for each layer, in the order of its numbers.  Numbers
//                have nine digits, from which the same float can be read.
#ifndef SR_TRAINER_EVAL_EXTRACT_EXTRACT_SHARD_H
#define SR_TRAINER_EVAL_EXTRACT_EXTRACT_SHARD_H

#include "data/sets/class_names.h"
#include "formats/weights/safetensors.h"

typedef enum {
    SR_EXTRACT_SAFETENSORS,
    SR_EXTRACT_NPY,
    SR_EXTRACT_NPZ,
    SR_EXTRACT_CSV,
    SR_EXTRACT_FORMATS
} SrExtractFormat;

// Returns the ending of a format's files, which is its name too: "safetensors", "npy", ...
const char *sr_extract_format_name(SrExtractFormat format);
// Finds a format by its name.  SR_ERR_CONFIG: there is no such format; for parquet the message
// names the way through another one.
SrStatus sr_extract_format_find(const char *name, SrExtractFormat *out);

typedef struct {
    const SrNamedTensor *layers; // (n_layers) F32 tensors of (images, ...)
    int n_layers;
    int64_t images;
    int n_targets;               // labels per image; 0: one class per image
    const int64_t *labels;       // (images), or (images, n_targets)
    const uint8_t *valid;        // (images)
    const SrStringList *files;   // (images)
    const SrStringList *classes; // by label; empty: classes have no names
} SrExtractShard;

// Writes shard `number` into the folder.  A shard appears whole or not at all.
SrStatus sr__extract_shard_save(SrExtractFormat format, const char *folder, int64_t number,
                                const SrExtractShard *shard);
SrStatus sr__extract_shard_exists(SrExtractFormat format, const char *folder, int64_t number,
                                  bool *out);

#endif
