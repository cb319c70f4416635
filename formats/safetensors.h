// The safetensors format (huggingface.co/docs/safetensors): 8-byte header length, JSON header, raw
// data. Read through a mapping with every range checked before it is trusted; written atomically.
#ifndef SR_FORMATS_SAFETENSORS_H
#define SR_FORMATS_SAFETENSORS_H

#include "base/arena.h"
#include "base/status.h"
#include "base/tensor.h"

typedef struct {
    const char *name;
    SrTensor tensor; // data points into the mapping (read) or to the caller's memory (write)
} SrNamedTensor;

// An open file: tensors in the order of their data, string metadata.  Valid until
// sr_safetensors_close. Data that is not aligned to its element in the file is a copy in the arena,
// the rest is the mapping.
typedef struct {
    int n;
    SrNamedTensor *tensors;
    int n_meta;
    const char **meta_keys, **meta_values;
    SrArena arena;
    const void *map;
    size_t map_bytes;
} SrSafetensors;

// SR_ERR_CONFIG: header longer than the file or 100 MB, not JSON, more than 100000 tensors, unknown
// dtype, rank > SR_MAX_RANK, a name twice, ranges that overflow, overlap, leave gaps, or disagree
// with shape * dtype.  Beside the mapping, no file takes more than its own size and 40 MiB.
SrStatus sr_safetensors_open(SrSafetensors *st, const char *path);
// The same without the copies, for readers of files larger than memory: data may be at any address.
SrStatus sr_safetensors_map(SrSafetensors *st, const char *path);
void sr_safetensors_close(SrSafetensors *st);
const SrTensor *sr_safetensors_find(const SrSafetensors *st, const char *name); // NULL if absent
const char *sr_safetensors_meta(const SrSafetensors *st, const char *key);      // NULL if absent

// Writes tensors in the given order, 64-byte aligned, atomically.  Meta pairs may be 0.
SrStatus sr_safetensors_save(const char *path, const SrNamedTensor *tensors, int n,
                             const char *const *meta_keys, const char *const *meta_values,
                             int n_meta);

// The same for tensors that are not all in memory: read gives the packed numbers of tensor i, valid
// until the next call; the views' data is not looked at.
typedef SrStatus (*SrTensorRead)(void *arg, int i, const void **data);
SrStatus sr_safetensors_save_from(const char *path, const SrNamedTensor *tensors, int n,
                                  const char *const *meta_keys, const char *const *meta_values,
                                  int n_meta, SrTensorRead read, void *arg);

#endif
