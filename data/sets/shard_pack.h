// Packs a data set into tar shards with an index, and checks shards against their index.
#ifndef SR_DATA_SETS_SHARD_PACK_H
#define SR_DATA_SETS_SHARD_PACK_H

#include "data/dataset.h"

typedef struct {
    const char *data; // path that `set` was opened at; it is cut off the names of images
    const char *out;  // folder to make; it must not exist
    int64_t bytes;    // approximate size of a shard; an image is never cut in two
    bool keep_order;  // order of the set; false: a random order that depends on the set alone
    // Fail at the first image that is damaged or cannot be read.  False: leave such images out.
    bool strict;
} SrShardPackOptions;

typedef struct {
    int64_t images, shards, bytes;
    int64_t left_out; // images that are damaged or cannot be read; warnings name the first
} SrShardPackResult;

// Packs a set.  Images keep the bytes of their files; images without files become PNG.  The folder
// appears when all is written.  A killed packing leaves OUT.partial, which the next one removes.
// SR_ERR_IO: `strict`, and an image is bad.  SR_ERR_RUN: the system cannot read, which says nothing
// about an image.
SrStatus sr_shard_pack(const SrDataset *source, const void *set, const SrShardPackOptions *options,
                       SrShardPackResult *out);

typedef struct {
    int64_t images, damaged, shards, bytes;
    bool summed; // checksums were compared; false: there are none, and only headers were read
    int n_listed;
    char listed[20][512]; // (n_listed) first damaged images with reasons
} SrShardCheckResult;
// Reads every image of the shards.  Returns SR_OK also if images are damaged.
SrStatus sr_shard_check(const char *path, SrShardCheckResult *out);

#endif
