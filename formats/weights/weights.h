// Opens every kind of file that holds weights: safetensors, PyTorch's .pth in both formats, .npz
// and .npy.  The format is recognised by content, never by the file name.
//
// Opening reads names and shapes only.  The file is mapped, and a tensor takes memory only while it
// is read and only if it cannot be pointed at (compressed, strided, unaligned).
//
// Apart from the mapping, a file takes at most its own size and 64 MiB: 40 MiB for the list of
// tensors (the arena is bounded), the rest for temporary tables and the tensor that is read.  A
// file that would need more is refused with SR_ERR_CONFIG.
#ifndef SR_FORMATS_WEIGHTS_WEIGHTS_H
#define SR_FORMATS_WEIGHTS_WEIGHTS_H

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

// Opens a file.  SR_ERR_CONFIG: no such file, a directory, an unknown format, damage, a refused
// global (named), a repeated name.  SR_ERR_MEMORY: out of memory.
SrStatus sr_weights_open(SrWeights *w, const char *path);
void sr_weights_close(SrWeights *w); // also legal after a failed open
// Keeps the tensors below a key of the outermost dict ("teacher", "state_dict") and removes the key
// from their names.  SR_ERR_CONFIG: no such key; the message lists the keys of the file.
SrStatus sr_weights_descend(SrWeights *w, const char *key);
// Removes the tensors marked in drop (n) and appends n_others others, whose data must live as long
// as w.
SrStatus sr_weights_exchange(SrWeights *w, const bool *drop, const SrWeightsTensor *others,
                             int n_others);
// Reads tensor i packed in C order; the data is valid until the next read.
SrStatus sr_weights_read(SrWeights *w, int i, SrTensor *out);
// Verifies the checksums of an sslrun checkpoint.  Other files give SR_OK.
SrStatus sr_weights_verify_sums(const SrWeights *w);
// Verifies the checksums of the container (zip: CRC-32); *checked counts them.
SrStatus sr_weights_verify(const SrWeights *w, int *checked);

const char *sr_weights_origin(const SrWeightsTensor *t);          // the tensor's name in the file
int sr_weights_find(const SrWeights *w, const char *name);        // -1 if absent
const char *sr_weights_meta(const SrWeights *w, const char *key); // NULL if absent
const char *sr_weights_format_name(SrWeightsFormat format);       // "PyTorch (zip)"

// Converts elements [begin, begin + n) to doubles, for statistics and comparison.
void sr_weights_doubles(const SrTensor *t, int64_t begin, int64_t n, double *out);
// Converts all elements to floats; numbers that no float holds are rounded to the nearest.
void sr_weights_floats(const SrTensor *t, float *out);

// ---- for the readers in this folder
#define SR_WEIGHTS_KNOWN ((size_t)40 << 20)   // bytes of the arena beyond the file's size
#define SR_WEIGHTS_SCRATCH ((size_t)60 << 20) // bytes of arena and scratch together
SrStatus sr__weights_add(SrWeights *w, int *cap, const SrWeightsTensor *tensor);
SrStatus sr__weights_add_meta(SrWeights *w, int *cap, const char *key, const char *value);
// Sets bytes and packed from shape, dtype and strides.  SR_ERR_CONFIG: the size overflows.
SrStatus sr__weights_measure(const SrWeights *w, SrWeightsTensor *t);
SrStatus sr__torch_zip_open(SrWeights *w);
SrStatus sr__torch_legacy_open(SrWeights *w);
bool sr__torch_is_legacy(const void *map, size_t bytes);
SrStatus sr__numpy_array_open(SrWeights *w);
SrStatus sr__numpy_archive_open(SrWeights *w);

#endif
