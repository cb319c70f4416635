// Layout of an index file of shards.  Sections in order: head, rows of shards, entries of images,
// labels, names of classes, names of images.  Numbers are little-endian, the byte order of every
// machine that sslrun runs on (base/tensor.c).
#ifndef SR_DATA_SETS_SHARD_FORMAT_H
#define SR_DATA_SETS_SHARD_FORMAT_H

#include <stdint.h>
#include <zlib.h>

// Name of the index in the folder of the shards; a single archive has NAME.index next to it.
#define SR_SHARD_INDEX "index.sslrun"
#define SR_SHARD_CLASSES "classnames.txt" // file next to the shards, one class per line
#define SR__SHARD_MAGIC "sslindex"        // 8 bytes, without the NUL
enum { SR__SHARD_VERSION = 1 };

typedef struct {
    char name[240];   // file name within the folder
    uint64_t bytes;   // size of the file when it was indexed
    int64_t changed;  // time of its last change in nanoseconds; 0: checksums guard the content
    int64_t first, n; // first image, and number of images
    // First row: mark of classnames.txt when the index was made (sr__shard_names_mark); 0: not
    // noted.  Other rows: 0.
    uint64_t names_mark;
} SrShardRow;

typedef struct {
    uint64_t offset, name; // offset in bytes in the shard; offset of its name in `names`
    uint32_t bytes, crc;   // size; CRC-32 of the bytes if the index has checksums
    int32_t label;         // class; -1: none, or several
    uint32_t shard;        // number of its row
} SrShardEntry;

typedef struct {
    char magic[8];
    uint32_t version;
    uint32_t crc; // CRC-32 of the head with crc 0, the rows and the names of classes
    int64_t images, shards, classes, class_names;
    uint64_t class_bytes, names_bytes;
    uint32_t summed, several;
} SrShardHead;
_Static_assert(sizeof(SrShardHead) == 72 && sizeof(SrShardRow) == 280 && sizeof(SrShardEntry) == 32,
               "sections follow each other without gaps, aligned to 8 bytes");

// Returns a mark of the content of classnames.txt, made of its size and CRC-32 and never 0.
// text NULL: there is no such file.
static inline uint64_t sr__shard_names_mark(const char *text, size_t bytes) {
    if (!text)
        return 1;
    return (uint64_t)(bytes + 1) << 32 | (uint32_t)crc32(0, (const Bytef *)text, (uInt)bytes);
}

// Returns the checksum of head, rows and class names.  Entries are left out and checked at their
// use: a checksum over them would read the whole mapped file.
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
