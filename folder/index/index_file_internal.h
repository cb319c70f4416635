// Layout of the file of an index, shared by index_file.c and index_writer.c.
#ifndef SR_FOLDER_INDEX_INDEX_FILE_INTERNAL_H
#define SR_FOLDER_INDEX_INDEX_FILE_INTERNAL_H

#include <zlib.h>

#include "folder/index/index_file.h"

#define SR_INDEX_MAGIC "sslrun index 1\n" // 16 bytes with the NUL
enum { SR_INDEX_ALIGN = 64 };

typedef struct {
    char magic[16];
    uint64_t key;
    int32_t d;
    uint32_t description_bytes;    // with the NUL, without padding
    uint32_t description_sum, sum; // sum: of the bytes before it
    char zeros[24];
} SrIndexFileHeader;

enum { SR_INDEX_ROWS = 0x574f5231, SR_INDEX_LIST = 0x54534c31 }; // types of blocks

typedef struct {
    uint32_t type;
    uint32_t n;     // records
    uint64_t bytes; // of the block with this header, a multiple of SR_INDEX_ALIGN
    uint64_t first; // SR_INDEX_ROWS: number of its first record
    uint64_t extra; // bytes of the names
    uint32_t classes;
    uint32_t body_sum;
    char zeros[20];
    uint32_t sum; // of the bytes before it
} SrIndexBlockHeader;

typedef struct {
    uint64_t name; // offset in the names of the block
    int64_t bytes, mtime;
    uint64_t hash;
    float length;
    uint32_t flags, name_bytes; // without the NUL
    uint32_t zero;
} SrIndexDiskRecord;

_Static_assert(sizeof(SrIndexFileHeader) == SR_INDEX_ALIGN &&
                   sizeof(SrIndexBlockHeader) == SR_INDEX_ALIGN,
               "headers are 64 bytes");
_Static_assert(sizeof(SrIndexDiskRecord) == 48, "records are 48 bytes");

typedef struct {
    int64_t first, n;
    const SrIndexDiskRecord *record;
    const uint16_t *rows;
    const char *names;
    uint64_t name_bytes;
    const SrIndexBlockHeader *header;
} SrIndexBlock;

struct SrIndexFile {
    const uint8_t *map;
    size_t bytes, good; // good: bytes up to the end of the last whole block
    const SrIndexFileHeader *header;
    SrIndexBlock *block;
    int n_blocks, cap;
    int64_t records;
    SrIndexList list;
    uint32_t list_sum;   // of the header of `list`
    uint64_t list_bytes; // of all lists
    bool broken;         // a block in the middle has no readable header
};

static inline size_t sr__index_padded(size_t bytes) {
    return (bytes + SR_INDEX_ALIGN - 1) / SR_INDEX_ALIGN * SR_INDEX_ALIGN;
}

static inline uint32_t sr__index_sum(const void *data, size_t bytes) {
    return (uint32_t)crc32_z(0, data, bytes);
}

#endif
