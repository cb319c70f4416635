// A data set into tar shards with their index, and the check of such shards against it.
#ifndef SR_DATA_SETS_SHARD_PACK_H
#define SR_DATA_SETS_SHARD_PACK_H

#include "data/data.h"

typedef struct {
    const char *data; // what `set` was opened at: paths below it lose it
    const char *out;  // a folder that does not exist yet
    int64_t bytes;    // of a shard, about; an image is never cut in two
    bool keep_order;  // as the set has them; else in a random order, the same for the same set
    bool
        strict; // fail at the first image that is damaged or cannot be read, rather than leave it out
} SrShardPackOptions;

typedef struct {
    int64_t images, shards, bytes;
    int64_t left_out; // images that are damaged or cannot be read; the first are warned of
} SrShardPackResult;

// Images as their files have them; those without files as PNG.  The folder appears when all is written: what was begun
// and not finished stands next to it as OUT.partial, and goes with the next packing.  SR_ERR_IO that names the image
// where `strict` asks for that; SR_ERR_RUN where the system cannot read, which says nothing about an image.
SrStatus sr_shard_pack(const SrDataset *source, const void *set, const SrShardPackOptions *options,
                       SrShardPackResult *out);

typedef struct {
    int64_t images, damaged, shards, bytes;
    bool summed; // false: made by others; images were only looked at
    int n_listed;
    char listed[20][512]; // the first of the damaged, with the reason
} SrShardCheckResult;
// Reads every image of the shards.  SR_OK also where images are damaged.
SrStatus sr_shard_check(const char *path, SrShardCheckResult *out);

#endif
