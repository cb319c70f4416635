// Appends blocks to the file of an index (folder/index/index_file.h), one process at a time.
#ifndef SR_FOLDER_INDEX_INDEX_WRITER_H
#define SR_FOLDER_INDEX_INDEX_WRITER_H

#include "folder/index/index_file.h"

typedef struct SrIndexWriter SrIndexWriter;

// Locks the file and makes it if it is missing.  *file: the present content, for reading until the
// writer is closed; an incomplete last block is cut off, and a damaged file is copied without the
// damaged blocks first.  SR_ERR_IO: another process writes.  SR_ERR_CONFIG: a file of another kind.
SrStatus sr_index_writer_open(const char *path, const SrIndexKind *kind, SrIndexWriter **out,
                              SrIndexFile **file);
// Appends a block of n records with rows (n, d) of halves.  The bytes are with the system
// afterwards, so that they survive the end of the process.
SrStatus sr_index_writer_add(SrIndexWriter *writer, const SrIndexRecord *records,
                             const uint16_t *rows, int n);
// Appends a list and flushes the file to disk.  Records are counted over all blocks, those that
// sr_index_writer_add appended last.
SrStatus sr_index_writer_list(SrIndexWriter *writer, const SrIndexList *list);
// Unlocks.  Rewrites the file first if most of its bytes are no longer listed, or it has very many
// blocks.
SrStatus sr_index_writer_close(SrIndexWriter *writer);
void sr_index_writer_abort(SrIndexWriter *writer); // unlocks only; NULL is legal

#endif
