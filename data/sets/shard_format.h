// The bytes of an index of shards: head, rows of shards, entries of images, labels, names of classes, names of images.
// In this machine's byte order: an index is cheap to make anew where another wrote it.
#ifndef SR_DATA_SETS_SHARD_FORMAT_H
#define SR_DATA_SETS_SHARD_FORMAT_H

#include <stdint.h>
#include <zlib.h>

#define SR__SHARD_MAGIC "sslindex" // 8 bytes, without the NUL
enum { SR__SHARD_VERSION = 1 };

typedef struct {
    char name[240];   // of the file, in the folder
    uint64_t bytes;   // the file had when it was indexed
    int64_t changed;  // when, in nanoseconds; 0 where checksums guard the content
    int64_t first, n; // its images
    // Of the first row: what classnames.txt was when the index was made (sr__shard_names_mark); 0: not noted.  Of the
    // others: 0.
    uint64_t names_mark;
} SrShardRow;

typedef struct {
    uint64_t offset, name; // bytes in the shard; the name's place in `names`
    uint32_t bytes, crc;   // CRC-32 of the bytes, where the index has checksums
    int32_t label;         // -1: none, or several
    uint32_t shard;
} SrShardEntry;

typedef struct {
    char magic[8];
    uint32_t version;
    uint32_t crc; // of the head with this 0, the rows and the names of classes
    int64_t images, shards, classes, class_names;
    uint64_t class_bytes, names_bytes;
    uint32_t summed, several;
} SrShardHead;
_Static_assert(sizeof(SrShardHead) == 72 && sizeof(SrShardRow) == 280 && sizeof(SrShardEntry) == 32,
               "sections follow each other without gaps, aligned to 8 bytes");

// Size and CRC-32 of the bytes of classnames.txt as one number that is never 0; text NULL: there is no such file.
static inline uint64_t sr__shard_names_mark(const char *text, size_t bytes) {
    if (!text)
        return 1;
    return (uint64_t)(bytes + 1) << 32 | (uint32_t)crc32(0, (const Bytef *)text, (uInt)bytes);
}

// Entries are checked where they are used: a checksum over all would read what is only to be mapped.
static inline uint32_t sr__shard_head_crc(const SrShardHead *head, const void *rows,
                                          size_t rows_bytes, const char *classes) {
    SrShardHead h = *head;
    h.crc = 0;
    uLong crc = crc32(0, (const Bytef *)&h, sizeof h);
    crc = crc32(crc, rows, (uInt)rows_bytes);
    return (uint32_t)(h.class_bytes ? crc32(crc, (const Bytef *)classes, (uInt)h.class_bytes)
                                    : crc);
}

#endif
