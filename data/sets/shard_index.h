// Index of a folder of tar shards: shard, offset, size, checksum, name and labels of every image.
// The index is a file next to the shards.  It is mapped, not read, so that a list of ten million
// images opens at once.
//
// `sslrun pack` writes it with checksums.  For other shards it is made on first use from the tar
// headers, without checksums.  Such shards follow WebDataset's convention
// (https://github.com/webdataset/webdataset): consecutive files of one sample share their name up
// to the first dot; "cls" holds the class, and "jpg", "png" or "webp" an image.
#ifndef SR_DATA_SETS_SHARD_INDEX_H
#define SR_DATA_SETS_SHARD_INDEX_H

#include "base/text/text.h"
#include "data/sets/class_names.h"
#include "data/sets/shard_format.h"

typedef struct {
    char *folder;      // folder of the shards; owned
    int64_t n, shards; // number of images, and of shards
    int classes;
    bool summed;            // entries have checksums
    const SrShardRow *row;  // (shards), within `map`, as the next three
    const SrShardEntry *at; // (n), in the order of the shards
    const int8_t *targets;  // (n, classes) of 1, 0, -1; NULL: one class per image
    const char *names;      // consecutive strings, each with its NUL
    size_t names_bytes;
    SrStringList class_names; // names of the first classes; the others are not known
    const void *map;
    size_t map_bytes;
    bool mapped; // `map` is the file; false: owned memory, as the folder cannot be written to
} SrShardIndex;

// Opens the index of a folder of .tar files or of one such file, and makes it if necessary.
// SR_ERR_IO, SR_ERR_CONFIG: shards are damaged, cut off or not those of the index.  A failure
// leaves nothing to close.
SrStatus sr__shard_index_open(const char *path, SrShardIndex *out);
void sr__shard_index_close(SrShardIndex *index);
// Gives entry i.  SR_ERR_IO: the entry points outside its shard.
SrStatus sr__shard_index_entry(const SrShardIndex *index, int64_t i, const SrShardEntry **out);
static inline const char *sr__shard_index_name(const SrShardIndex *index, const SrShardEntry *e) {
    return index->names + e->name;
}

#endif
