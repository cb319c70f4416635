// Identity and checksums of sslrun's checkpoints, for readers of weights.  A checkpoint is a
// safetensors file whose metadata holds a name, a format number, a checksum per tensor and one over
// the metadata.  trainer/run/checkpoint.h describes the contents.
#ifndef SR_FORMATS_WEIGHTS_CHECKPOINT_SUMS_H
#define SR_FORMATS_WEIGHTS_CHECKPOINT_SUMS_H

#include "formats/weights/safetensors.h"

#define SR_CHECKPOINT_NAME "sslrun checkpoint" // metadata "format"
#define SR_CHECKPOINT_FORMAT 1                 // metadata "format_version"

// Continues zlib's CRC-32 `crc` over `bytes` more bytes.
uint32_t sr_checkpoint_sum(uint32_t crc, const void *data, size_t bytes);
// Returns the checksum of n keys and values; the key "metadata_checksum" is left out.
uint32_t sr_checkpoint_metadata_sum(const char *const *keys, const char *const *values, int n);
// True for a file whose metadata says that sslrun wrote it as a checkpoint.
bool sr_checkpoint_is_named(const SrSafetensors *st);
// Verifies metadata and all tensors of an open file.  Damage gives SR_ERR_IO and names the place.
SrStatus sr_checkpoint_verify(const SrSafetensors *st, const char *path);
// Verifies the metadata alone.  SR_ERR_CONFIG: the file is no checkpoint, or has another format.
SrStatus sr_checkpoint_verify_metadata(const SrSafetensors *st, const char *path);

#endif
