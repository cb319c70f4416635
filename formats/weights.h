// One door to every file that holds weights: safetensors, PyTorch (.pth in the zip format and the
// older one), .npz, .npy.  The format is recognised by content, never by the name.
//
// Opening reads names and shapes, not numbers: a file is mapped, and a tensor costs memory only
// while it is read, and only where it cannot be pointed at (compressed, strided, unaligned).
//
// Beside the mapping no file makes us hold more than its own size + 64 MiB: 40 of them for what is
// known of the tensors (the arena is bounded), the rest for tables of the moment and for the tensor
// being read.  What would need more is refused (SR_ERR_CONFIG), whatever it claims.
#ifndef SR_FORMATS_WEIGHTS_H
#define SR_FORMATS_WEIGHTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/tensor.h"
#include "formats/safetensors.h"
#include "formats/zip.h"

typedef enum {
    SR_WEIGHTS_SAFETENSORS,
    SR_WEIGHTS_TORCH,        // zip, since PyTorch 1.6
    SR_WEIGHTS_TORCH_LEGACY, // five pickles, then the numbers
    SR_WEIGHTS_NPZ,
    SR_WEIGHTS_NPY,
} SrWeightsFormat;

// Where a tensor's numbers are.  Read name, shape, dtype, bytes; the rest belongs to formats/.
typedef struct {
    const char *name; // keys of nested dicts joined by dots; "array" in a .npy
    SrShape shape;
    SrDtype dtype;
    size_t bytes;                 // of the numbers, packed
    const uint8_t *data;          // first element in the mapping; NULL when deflated
    int64_t strides[SR_MAX_RANK]; // elements
    bool packed;                  // strides are those of C order
    const SrZipEntry *deflated;   // of a compressed .npz
    size_t skip;                  // its header, bytes
} SrWeightsTensor;

typedef struct {
    SrWeightsFormat format;
    const char *path;
    int n;
    SrWeightsTensor *tensors;        // in the file's order
    const SrWeightsTensor **by_name; // the same, sorted
    int n_meta;
    const char **meta_keys, **meta_values; // what else the file says, as text
    size_t file_bytes;
    SrSafetensors st; // of a safetensors file, else empty
    SrZip zip;
    SrArena arena;
    const void *map;
    void *scratch; // holds the tensor last read, if it had to be copied
    size_t scratch_bytes;
} SrWeights;

// SR_ERR_CONFIG: no such file, a directory, none of the formats, damaged, refused globals (by
// name), two tensors of one name.  SR_ERR_MEMORY.
SrStatus sr_weights_open(SrWeights *w, const char *path);
void sr_weights_close(SrWeights *w); // also legal after a failed open
// Keeps the tensors below a key of the outermost dict ("teacher", "state_dict"), under the rest of their names.  None:
// SR_ERR_CONFIG with the keys there are.
SrStatus sr_weights_descend(SrWeights *w, const char *key);
// Takes the tensors marked in drop (n) out and puts others behind the rest; what these point at lives as long as w.
SrStatus sr_weights_exchange(SrWeights *w, const bool *drop, const SrWeightsTensor *others,
                             int n_others);
// Tensor i packed in C order; data is valid until the next read.
SrStatus sr_weights_read(SrWeights *w, int i, SrTensor *out);
// Of a checkpoint of ours: is every number the one that was written?  Nothing to say of other files.
SrStatus sr_weights_verify_sums(const SrWeights *w);
// Checks what checksums the container has (zip: CRC-32); *checked counts them.
SrStatus sr_weights_verify(const SrWeights *w, int *checked);

int sr_weights_find(const SrWeights *w, const char *name);        // -1 if absent
const char *sr_weights_meta(const SrWeights *w, const char *key); // NULL if absent
const char *sr_weights_format_name(SrWeightsFormat format);       // "PyTorch (zip)"

// Elements [begin, begin + n) as doubles, for statistics and comparison.
void sr_weights_doubles(const SrTensor *t, int64_t begin, int64_t n, double *out);

// ---- for the readers in this folder
#define SR_WEIGHTS_KNOWN ((size_t)40 << 20)   // of the arena, beyond the file's size
#define SR_WEIGHTS_SCRATCH ((size_t)60 << 20) // of arena and tensor together
SrStatus sr__weights_add(SrWeights *w, int *cap, const SrWeightsTensor *tensor);
SrStatus sr__weights_add_meta(SrWeights *w, int *cap, const char *key, const char *value);
// bytes and packed from shape, dtype and strides; SR_ERR_CONFIG when that overflows.
SrStatus sr__weights_measure(const SrWeights *w, SrWeightsTensor *t);
SrStatus sr__torch_zip_open(SrWeights *w);
SrStatus sr__torch_legacy_open(SrWeights *w);
bool sr__torch_is_legacy(const void *map, size_t bytes);
SrStatus sr__numpy_array_open(SrWeights *w);
SrStatus sr__numpy_archive_open(SrWeights *w);

#endif
