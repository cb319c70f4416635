// Opens and locks files that only this program writes, such as those of a run folder, and notices
// when that folder is moved away.  A link or pipe under such a name leads to a file of somebody
// else, so it is refused and stays untouched.
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

// Remembers which folder a path leads to, for sr_file_check_folder.  Returns a descriptor, which
// the caller closes with sr_file_unlock; -1: there is none, and every check succeeds.
int sr_file_hold_folder(const char *path);
// Checks that the path still leads to that folder.  SR_ERR_IO: it was moved or removed, and another
// one may have its name; the message says where it is now, if the system knows.  A move between the
// check and a write that follows is not noticed.
SrStatus sr_file_check_folder(int held, const char *path);

#endif
