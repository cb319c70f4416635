// What data sets that read files share.
#ifndef SR_DATA_SETS_SOURCE_H
#define SR_DATA_SETS_SOURCE_H

#include "data/data.h"

// A whole file in memory of the pool.  SR_ERR_IO with the path and the system's reason.
SrStatus sr__source_read_file(const char *path, SrImagePool *pool, const void **bytes, size_t *n);
// DATA_PATHS was left empty or names nothing: SR_ERR_CONFIG that says which key to set.
SrStatus sr__source_check_path(const SrDatasetConfig *config);

#endif
