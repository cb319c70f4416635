// Members of a tar archive by their headers: names, sizes and where their bytes begin; nothing is unpacked.  Not a reader
// of compressed archives, links, sparse files or folders, which are stepped over.  And the headers of members to write.
//
// Format: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header"; GNU tar's long names ('L') and
// base-256 sizes (www.gnu.org/software/tar/manual/html_node/Standard.html).
#ifndef SR_DATA_SETS_TAR_WALK_H
#define SR_DATA_SETS_TAR_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

enum { SR_TAR_BLOCK = 512, SR_TAR_NAME_BYTES = 4096 };

typedef struct {
    int fd;
    const char *path; // for messages
    uint64_t size;    // of the file
    uint64_t at;      // of the next header
} SrTar;

typedef struct {
    char name[SR_TAR_NAME_BYTES];
    uint64_t offset, size; // of its bytes in the file; offset + size lies within it
} SrTarMember;

// Opens a regular file.  SR_ERR_IO.
SrStatus sr__tar_open(const char *path, SrTar *out);
void sr__tar_close(SrTar *tar);
// The next regular file; *end at the zeros that end an archive.  SR_ERR_IO in one line for whatever is malformed or cut
// off; memory and steps are bounded by the file's size.
SrStatus sr__tar_next(SrTar *tar, SrTarMember *out, bool *end);
// Exactly n bytes of the file at `at`.  SR_ERR_IO when it has become shorter.
SrStatus sr__tar_read(int fd, const char *path, uint64_t at, void *out, size_t n);

// Appends the header blocks of a file of that name and size, the same for the same name and size.
void sr__tar_header(const char *name, uint64_t size, SrText *out);
// Zeros from the end of so many bytes to the next block.
static inline size_t sr__tar_padding(uint64_t size) {
    return (size_t)((SR_TAR_BLOCK - size % SR_TAR_BLOCK) % SR_TAR_BLOCK);
}

#endif
