// Writing zip archives: stored entries whose data begins at multiples of 64 bytes, as torch.save
// lays them out, so that readers can map them.  Zip64 where offsets need it.  Atomic like every
// file.
#ifndef SR_FORMATS_ZIP_WRITE_H
#define SR_FORMATS_ZIP_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "base/text.h"

typedef struct {
    SrFileWriter file;
    const char *path;
    uint64_t at;      // bytes written
    SrText directory; // grows with the entries
    int n;
} SrZipWriter;

SrStatus sr_zip_begin(SrZipWriter *z, const char *path);
// One entry of two parts (head may be empty), each below 4 GiB together.
SrStatus sr_zip_add(SrZipWriter *z, const char *name, const void *head, size_t head_bytes,
                    const void *data, size_t bytes);
SrStatus sr_zip_commit(SrZipWriter *z); // ends the writing, also when it fails
void sr_zip_abort(SrZipWriter *z);      // legal after a failed begin

#endif
