// What makes a safetensors file a checkpoint of ours, as far as whoever reads one has to know: its name, its format's
// number, and checksums over every tensor and over the metadata.  What is in it: trainer/run/checkpoint.h.
#ifndef SR_FORMATS_CHECKPOINT_SUMS_H
#define SR_FORMATS_CHECKPOINT_SUMS_H

#include "formats/safetensors.h"

#define SR_CHECKPOINT_NAME "sslrun checkpoint" // metadata "format"
#define SR_CHECKPOINT_FORMAT 1                 // metadata "format_version"

// CRC-32 continued from `crc`: zlib's.
uint32_t sr_checkpoint_sum(uint32_t crc, const void *data, size_t bytes);
// Over all keys and values but "metadata_checksum".
uint32_t sr_checkpoint_metadata_sum(const char *const *keys, const char *const *values, int n);
// Damage in an open file's metadata or tensors: SR_ERR_IO with the place.
SrStatus sr_checkpoint_verify(const SrSafetensors *st, const char *path);
// The metadata alone.  Not a checkpoint, or another format: SR_ERR_CONFIG.
SrStatus sr_checkpoint_verify_metadata(const SrSafetensors *st, const char *path);

#endif
