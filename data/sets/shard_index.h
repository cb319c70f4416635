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
#include "data/data.h"
#include "data/sets/class_names.h"
#include "data/sets/shard_format.h"

// Name of the index in the folder of the shards; a single archive has NAME.index next to it.
#define SR_SHARD_INDEX "index.sslrun"
#define SR_SHARD_CLASSES "classnames.txt" // file next to the shards, one class per line

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

// ---- making an index

typedef struct SrShardList SrShardList; // index in the making, which grows image by image
SrStatus sr__shard_list_new(SrShardList **out);
void sr__shard_list_free(SrShardList *list);
// Begins a shard, to which the following images belong.  sr__shard_list_end ends it and gives its
// size in bytes and the time of its last change (SrShardRow.changed).
SrStatus sr__shard_list_begin(SrShardList *list, const char *name);
void sr__shard_list_end(SrShardList *list, uint64_t bytes, int64_t changed);
SrStatus sr__shard_list_add(SrShardList *list, const char *name, uint64_t offset, uint64_t bytes,
                            uint32_t crc);
// Sets the class of image i.  text: the content of a "cls" file, which is a number, a name, or
// several numbers separated by blanks, with "?" after those that are not known. SR_ERR_CONFIG:
// the text is none of these.
SrStatus sr__shard_list_label(SrShardList *list, int64_t i, const char *text);
void sr__shard_list_several(SrShardList *list); // labels are sets, whatever their texts look like
int64_t sr__shard_list_length(const SrShardList *list);
// Removes the images from number `first` on.
void sr__shard_list_cut(SrShardList *list, int64_t first);
// Writes the bytes of the index file into out.  class_names: borrowed, may be empty; names_mark:
// mark of their file.  Labels that are names are looked up in class_names, or numbered if it is
// empty.
SrStatus sr__shard_list_print(SrShardList *list, const SrStringList *class_names,
                              uint64_t names_mark, bool summed, SrText *out);

// Adds the images of n shards to the list by walking over tar headers.  rows: name, bytes and
// changed of each shard.  A sample has one image, the file whose ending after the first dot is an
// image's (0001.jpg, not 0001.seg.png).  A sample without such a file keeps all its images.
// *passed_over: number of images that this rule left out.
SrStatus sr__shard_walk(const char *folder, const SrShardRow *rows, int64_t n, SrShardList *list,
                        int64_t *passed_over);
bool sr__shard_is_image(const char *name); // decides by the ending

#endif
