// The file of an index: embeddings of images, appended block by block, and lists of those that are
// current.  It knows neither models nor images; folder/index/index.h fills it.
//
//     header     magic, key of what the rows were made by, numbers per row, description (JSON)
//     rows       records of images and their rows as half precision           } appended in any
//     list       which records make up the folder now, with their classes     } number and order
//     ...
//
// Every block begins with a header of 64 bytes that holds the block's size, a checksum of its body
// and one of the header itself.  Nothing that was written is changed, so readers map the file and
// read while a writer appends.  A reader takes the last whole list; records after it belong to an
// update that was stopped, and the next update uses them.  A writer holds the lock "FILE.lock".
// When most of the bytes are no longer listed, the writer makes a new file and renames it into
// place; readers keep the old one until they close it.
//
// Opening reads headers and the last list only: a million rows take some milliseconds.
#ifndef SR_FOLDER_INDEX_INDEX_FILE_H
#define SR_FOLDER_INDEX_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text/text.h"

enum { SR_INDEX_BAD = 1 }; // the image could not be read: it has a record, and its row is zeros

typedef struct {
    const char *name; // path of the image, or "image 17" in a set without files
    int64_t bytes;    // size of the file
    int64_t mtime;    // nanoseconds since 1970
    uint64_t hash;    // of the file's bytes, or of the pixels in a set without files
    float length;     // of the row before it was divided by its length
    uint32_t flags;   // SR_INDEX_BAD
} SrIndexRecord;

typedef struct SrIndexFile SrIndexFile;

// Names the use of a file.  Files of another key are refused.
typedef struct {
    uint64_t key;
    int d;                   // numbers per row, at least 1
    const char *description; // JSON on one line
} SrIndexKind;

// Opens a file for reading.  SR_ERR_CONFIG: no index, or damaged so that nothing can be read.
// A file without a whole list opens with no rows.
SrStatus sr_index_file_open(const char *path, SrIndexFile **out);
void sr_index_file_close(SrIndexFile *file);                        // NULL is legal
void sr_index_file_kind(const SrIndexFile *file, SrIndexKind *out); // description: the file's

// Records of all blocks, also of those that no list names.
int64_t sr_index_file_records(const SrIndexFile *file);
// Reads record r.  name: valid until the file is closed; "" if the file is damaged there.
void sr_index_file_record(const SrIndexFile *file, int64_t r, SrIndexRecord *out);
const uint16_t *sr_index_file_row(const SrIndexFile *file, int64_t r); // (d) halves
int64_t sr_index_file_after(const SrIndexFile *file, int64_t r); // rows from r on that lie together
// Returns a checksum that changes with rows and list, from the headers of their blocks.
uint32_t sr_index_file_sum(const SrIndexFile *file);
// Checks the bytes of all blocks against their checksums; keep[r] = 0 for records of damaged ones.
// keep: (records).  Returns the number of damaged blocks.
int sr_index_file_verify(const SrIndexFile *file, uint8_t *keep);

// The last list: records in the order of the folder, with classes.
typedef struct {
    int64_t n;
    const uint32_t *record;  // (n)
    const int32_t *label;    // (n) class, or -1
    int classes;             // number of names; 0: no labels
    const char *class_names; // names, each with a NUL
    size_t class_bytes;
} SrIndexList;
void sr_index_file_list(const SrIndexFile *file, SrIndexList *out); // valid until it is closed

#endif
