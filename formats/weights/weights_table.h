// An open file of weights as a table of tensors, which the readers of this folder fill.
#ifndef SR_FORMATS_WEIGHTS_WEIGHTS_TABLE_H
#define SR_FORMATS_WEIGHTS_WEIGHTS_TABLE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/tensor.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/zip.h"

typedef enum {
    SR_WEIGHTS_SAFETENSORS,
    SR_WEIGHTS_TORCH,        // zip format, written by PyTorch 1.6 and later
    SR_WEIGHTS_TORCH_LEGACY, // five pickles followed by the numbers
    SR_WEIGHTS_NPZ,
    SR_WEIGHTS_NPY,
} SrWeightsFormat;

// A tensor of a file.  Callers read name, shape, dtype and bytes; the rest belongs to formats/.
typedef struct {
    const char *name;   // keys of nested dicts joined by dots; "array" in a .npy
    const char *origin; // name in the file, if formats/names/naming.h changed it; NULL: name
    SrShape shape;
    SrDtype dtype;
    size_t bytes;                 // size of the packed numbers
    const uint8_t *data;          // first element in the mapping; NULL: compressed
    int64_t strides[SR_MAX_RANK]; // in elements
    bool packed;                  // strides are those of C order
    const SrZipEntry *deflated;   // entry of a compressed .npz; NULL: stored
    size_t skip;                  // length of the array's header in bytes
} SrWeightsTensor;

typedef struct {
    SrWeightsFormat format;
    const char *path;
    int n;
    SrWeightsTensor *tensors;        // in the file's order
    const SrWeightsTensor **by_name; // sorted by name
    int n_meta;
    const char **meta_keys, **meta_values; // other values of the file, as text
    size_t file_bytes;
    SrSafetensors st; // open safetensors file; empty for other formats
    SrZip zip;
    SrArena arena;
    const void *map;
    void *scratch; // copy of the tensor read last, if one was needed
    size_t scratch_bytes;
} SrWeights;

// ---- for the readers
#define SR_WEIGHTS_KNOWN ((size_t)40 << 20)   // bytes of the arena beyond the file's size
#define SR_WEIGHTS_SCRATCH ((size_t)60 << 20) // bytes of arena and scratch together
// Append a tensor, and a value as text, to tables with room for *cap entries; 0 at the start.
SrStatus sr__weights_add(SrWeights *w, int *cap, const SrWeightsTensor *tensor);
SrStatus sr__weights_add_meta(SrWeights *w, int *cap, const char *key, const char *value);
// Sets bytes and packed from shape, dtype and strides.  SR_ERR_CONFIG: the size overflows.
SrStatus sr__weights_measure(const SrWeights *w, SrWeightsTensor *t);

#endif
