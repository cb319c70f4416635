// Walks over the headers of a tar archive, and writes headers of members.  The walk gives names,
// sizes and offsets and unpacks nothing.  Links, sparse files and folders are passed over;
// compressed archives are refused.
//
// Format: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header"; GNU tar's long
// names ('L') and base-256 sizes (https://www.gnu.org/software/tar/manual/html_node/Standard.html).
#ifndef SR_DATA_SETS_TAR_WALK_H
#define SR_DATA_SETS_TAR_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text/text.h"

enum { SR_TAR_BLOCK = 512, SR_TAR_NAME_BYTES = 4096 };

typedef struct {
    int fd;
    const char *path; // for messages
    uint64_t size;    // size of the file in bytes
    uint64_t at;      // offset of the next header
} SrTar;

typedef struct {
    char name[SR_TAR_NAME_BYTES];
    uint64_t offset, size; // range of its bytes; offset + size lies within the file
} SrTarMember;

// Opens a regular file.  SR_ERR_IO: it cannot be opened or is no regular file.
SrStatus sr__tar_open(const char *path, SrTar *out);
void sr__tar_close(SrTar *tar);
// Gives the next regular file.  *end: the zeros at the end of the archive were reached.
// SR_ERR_IO: the archive is malformed or cut off.  The file's size bounds memory and steps.
SrStatus sr__tar_next(SrTar *tar, SrTarMember *out, bool *end);
// Reads exactly n bytes at offset `at`.  SR_ERR_IO: the file has become shorter.
SrStatus sr__tar_read(int fd, const char *path, uint64_t at, void *out, size_t n);

// Appends the header blocks of a file.  They depend on name and size alone.
void sr__tar_header(const char *name, uint64_t size, SrText *out);
// Number of zeros that fill the last block after `size` bytes.
static inline size_t sr__tar_padding(uint64_t size) {
    return (size_t)((SR_TAR_BLOCK - size % SR_TAR_BLOCK) % SR_TAR_BLOCK);
}

#endif
