// Reads and writes the safetensors format (https://huggingface.co/docs/safetensors): an 8-byte
// header length, a JSON header, raw data.  Files are read through a mapping, and every range is
// checked before it is used.  Files are written atomically.
#ifndef SR_FORMATS_WEIGHTS_SAFETENSORS_H
#define SR_FORMATS_WEIGHTS_SAFETENSORS_H

#include "base/arena.h"
#include "base/status.h"
#include "base/tensor.h"

typedef struct {
    const char *name;
    SrTensor tensor; // data: in the mapping when reading, the caller's memory when writing
} SrNamedTensor;

// An open file with its tensors in the order of their data and its string metadata.  Everything is
// valid until sr_safetensors_close.  Data that is not aligned to its element is copied to the
// arena; other data points into the mapping.
typedef struct {
    int n;
    SrNamedTensor *tensors;
    int n_meta;
    const char **meta_keys, **meta_values;
    SrArena arena;
    const void *map;
    size_t map_bytes;
} SrSafetensors;

// Opens a file.  SR_ERR_CONFIG: the header is longer than the file or 100 MB, or is no JSON; more
// than 100000 tensors; unknown dtype; rank > SR_MAX_RANK; a repeated name; ranges that overflow,
// overlap, leave gaps or disagree with shape * dtype.  Apart from the mapping, a file takes at most
// its own size and 40 MiB.
SrStatus sr_safetensors_open(SrSafetensors *st, const char *path);
// Opens a file without copying unaligned data, for files larger than memory: data may be at any
// address.
SrStatus sr_safetensors_map(SrSafetensors *st, const char *path);
void sr_safetensors_close(SrSafetensors *st);
const SrTensor *sr_safetensors_find(const SrSafetensors *st, const char *name); // NULL if absent
const char *sr_safetensors_meta(const SrSafetensors *st, const char *key);      // NULL if absent

// Writes n tensors in the given order, aligned to 64 bytes, atomically.  n_meta may be 0.
SrStatus sr_safetensors_save(const char *path, const SrNamedTensor *tensors, int n,
                             const char *const *meta_keys, const char *const *meta_values,
                             int n_meta);

// Writes tensors that are not all in memory.  read() returns the packed numbers of tensor i, valid
// until its next call; the data pointers of `tensors` are not used.
typedef SrStatus (*SrTensorRead)(void *arg, int i, const void **data);
SrStatus sr_safetensors_save_from(const char *path, const SrNamedTensor *tensors, int n,
                                  const char *const *meta_keys, const char *const *meta_values,
                                  int n_meta, SrTensorRead read, void *arg);

#endif
