// Opens and locks files that only this program writes, such as those of a run folder.  A link or
// pipe under such a name leads to a file of somebody else, so it is refused and stays untouched.
#ifndef SR_BASE_OWN_FILE_H
#define SR_BASE_OWN_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

// Opens a regular file for reading and refuses a link under that name.  The caller closes *fd.
SrStatus sr_file_open_own(const char *path, int *fd, size_t *bytes);
// Opens a file for appending and creates it if it is missing.  SR_ERR_IO: the name is a link or no
// regular file, and stays untouched, so that a run's lines never go elsewhere.
SrStatus sr_file_append(const char *path, FILE **out);
// Locks a file for this process until sr_file_unlock or the end of the process.  The file is
// created if it is missing, stays afterwards, and holds the number of the process.
// *out: the lock; -1 on a file system without locks, which gives no protection.
// SR_ERR_IO: another process holds it, and the message names that process.  Also SR_ERR_IO for a
// link or anything but a regular file, which stays untouched.
SrStatus sr_file_lock(const char *path, int *out);
void sr_file_unlock(int lock); // -1 is legal

#endif
