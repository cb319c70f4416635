// Where every image of a folder of tar shards lies: its shard, offset, bytes, checksum, name and labels, in one file
// beside the shards that is mapped and not read, so that a listing of ten million images opens at once.
//
// Written by `sslrun pack`; made on first use, from the headers alone and without checksums, for shards of others
// (WebDataset's convention, github.com/webdataset/webdataset: files of one sample follow each other and share their
// name up to the first dot; "cls" holds the class, "jpg", "png", "webp" an image).
#ifndef SR_DATA_SETS_SHARD_INDEX_H
#define SR_DATA_SETS_SHARD_INDEX_H

#include "base/text.h"
#include "data/data.h"
#include "data/sets/class_names.h"
#include "data/sets/shard_format.h"

#define SR_SHARD_INDEX \
    "index.sslrun" // in the folder of the shards; of one archive: its name + ".index"
#define SR_SHARD_CLASSES "classnames.txt" // next to shards, a class per line

typedef struct {
    char *folder; // of the shards
    int64_t n, shards;
    int classes;
    bool summed;            // entries have checksums
    const SrShardRow *row;  // (shards)
    const SrShardEntry *at; // (n), in the order of the shards
    const int8_t *targets;  // (n, classes) of 1, 0, -1; NULL: one class an image
    const char *names;      // one behind the other, each with its NUL
    size_t names_bytes;
    SrStringList class_names; // fewer than `classes` where the others are not known
    const void *map;
    size_t map_bytes;
    bool mapped; // else memory: the folder cannot be written to
} SrShardIndex;

// path: a folder of .tar files, or one.  Made if need be.  SR_ERR_IO, SR_ERR_CONFIG in one line where shards are damaged,
// cut off or not those of the index.  On failure nothing stays.
SrStatus sr__shard_index_open(const char *path, SrShardIndex *out);
void sr__shard_index_close(SrShardIndex *index);
// Entry i if what it says lies within its shard; else SR_ERR_IO.
SrStatus sr__shard_index_entry(const SrShardIndex *index, int64_t i, const SrShardEntry **out);
static inline const char *sr__shard_index_name(const SrShardIndex *index, const SrShardEntry *e) {
    return index->names + e->name;
}

// ---- making one

typedef struct SrShardList SrShardList; // grows image by image
SrStatus sr__shard_list_new(SrShardList **out);
void sr__shard_list_free(SrShardList *list);
// The images that follow lie in this shard, of `bytes` in the end (sr__shard_list_end).
SrStatus sr__shard_list_begin(SrShardList *list, const char *name);
void sr__shard_list_end(SrShardList *list, uint64_t bytes, int64_t changed);
SrStatus sr__shard_list_add(SrShardList *list, const char *name, uint64_t offset, uint64_t bytes,
                            uint32_t crc);
// The class of image i; text as a "cls" file has it: a number, several with blanks between them and "?" behind those
// that are not known, or a name.  SR_ERR_CONFIG.
SrStatus sr__shard_list_label(SrShardList *list, int64_t i, const char *text);
void sr__shard_list_several(SrShardList *list); // labels are sets, whatever their texts look like
int64_t sr__shard_list_length(const SrShardList *list);
// Forgets the images from number `first` on.
void sr__shard_list_cut(SrShardList *list, int64_t first);
// The index as its file has it.  class_names: borrowed, may be empty; names_mark: of their file.  Names of classes among the labels need none, or
// are found there.
SrStatus sr__shard_list_print(SrShardList *list, const SrStringList *class_names,
                              uint64_t names_mark, bool summed, SrText *out);

// The index of shards by walking their headers.  rows: names, bytes, changed of each.  A sample has one image: the file
// whose ending after the first dot is an image's (0001.jpg, not 0001.seg.png).  A sample without such a file keeps all
// its images.  *passed_over: images left out by that rule.
SrStatus sr__shard_walk(const char *folder, const SrShardRow *rows, int64_t n, SrShardList *list,
                        int64_t *passed_over);
bool sr__shard_is_image(const char *name); // by its ending

#endif
