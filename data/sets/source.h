// Functions shared by the data sets that read files.
#ifndef SR_DATA_SETS_SOURCE_H
#define SR_DATA_SETS_SOURCE_H

#include "data/dataset.h"

// Returns the status of a failed open, stat or read of `path`, with errno's text.
// SR_ERR_IO: the file itself is bad.  SR_ERR_RUN: the system failed (EIO, EMFILE, ESTALE, ...), and
// the file may be whole.
SrStatus sr__source_fail(const char *what, const char *path);
// Reads a whole file into memory of the pool.  FILE.tif#2 names page 2 of a TIFF, unless a file has
// that very name: the page is then the first one that decoders find in the bytes.  Errors: those of
// sr__source_fail; SR_ERR_IO: there is no such page; SR_ERR_MEMORY.
SrStatus sr__source_read_file(const char *path, SrImagePool *pool, const void **bytes, size_t *n);
// True if the path names a file or folder, or a page of a TIFF file that exists.
bool sr__source_exists(const char *path);
// True if the path is a .npy file of three or more dimensions: images, and no list of names.
bool sr__source_is_stack(const char *path);
// SR_ERR_CONFIG: DATA_PATHS is empty or names nothing; the message names the key to set.
SrStatus sr__source_check_path(const SrDatasetConfig *config);

#endif
