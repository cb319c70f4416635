// Writes zip archives of stored entries.  Data begins at multiples of 64 bytes, as torch.save
// places it, so that readers can map it.  Offsets beyond 4 GiB use Zip64.  The file is written
// atomically.
#ifndef SR_FORMATS_WEIGHTS_ZIP_WRITE_H
#define SR_FORMATS_WEIGHTS_ZIP_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "base/text/text.h"

typedef struct {
    SrFileWriter file;
    const char *path;
    uint64_t at;      // bytes written
    SrText directory; // central directory so far
    int n;
} SrZipWriter;

SrStatus sr_zip_begin(SrZipWriter *z, const char *path);
// Writes one entry made of head (may be empty) and data, together below 4 GiB.  The name has at
// most 65,535 bytes.
SrStatus sr_zip_add(SrZipWriter *z, const char *name, const void *head, size_t head_bytes,
                    const void *data, size_t bytes);
SrStatus sr_zip_commit(SrZipWriter *z); // finishes the file; releases z also on failure
void sr_zip_abort(SrZipWriter *z);      // legal after a failed begin

#endif
