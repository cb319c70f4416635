// What data sets that read files share.
#ifndef SR_DATA_SETS_SOURCE_H
#define SR_DATA_SETS_SOURCE_H

#include "data/data.h"

// The status of a failed open, stat or read of `path`, with errno's text.  SR_ERR_IO: the file itself is bad.
// SR_ERR_RUN: the system failed (EIO, EMFILE, ESTALE, ...), so that the file may be whole.
SrStatus sr__source_fail(const char *what, const char *path);
// A whole file in memory of the pool.  Errors are sr__source_fail's; SR_ERR_MEMORY.
SrStatus sr__source_read_file(const char *path, SrImagePool *pool, const void **bytes, size_t *n);
// DATA_PATHS was left empty or names nothing: SR_ERR_CONFIG that says which key to set.
SrStatus sr__source_check_path(const SrDatasetConfig *config);

#endif
