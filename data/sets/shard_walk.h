// Indexes shards without an index: walks over tar headers and forms samples by WebDataset's rule.
#ifndef SR_DATA_SETS_SHARD_WALK_H
#define SR_DATA_SETS_SHARD_WALK_H

#include "data/sets/shard_list.h"

// Adds the images of n shards to the list by walking over tar headers.  rows: name, bytes and
// changed of each shard.  A sample has one image, the file whose ending after the first dot is an
// image's (0001.jpg, not 0001.seg.png).  A sample without such a file keeps all its images.
// *passed_over: number of images that this rule left out.
SrStatus sr__shard_walk(const char *folder, const SrShardRow *rows, int64_t n, SrShardList *list,
                        int64_t *passed_over);
bool sr__shard_is_image(const char *name); // decides by the ending

#endif
