// An index of shards in the making, which grows image by image.
#ifndef SR_DATA_SETS_SHARD_LIST_H
#define SR_DATA_SETS_SHARD_LIST_H

#include "base/status.h"
#include "base/text/text.h"
#include "data/sets/class_names.h"
#include "data/sets/shard_format.h"

typedef struct SrShardList SrShardList;
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

#endif
