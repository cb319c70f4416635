// Files: read whole within a bound, written so that nothing half-written ever replaces something whole.
#ifndef SR_BASE_FILE_H
#define SR_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

// A descriptor for reading, as open(2) gives it: -1 with errno.  Tries again after EINTR, and never waits for a pipe.
int sr_file_open_fd(const char *path);
// True where an errno of open, stat or read blames the named file alone: missing, forbidden, a loop of links.
// False where the system failed (EIO, EMFILE, ENFILE, ENOMEM, ESTALE): the file may be whole.
bool sr_file_is_own_fault(int error);

// Whole file; *data is NUL-terminated beyond *bytes and the caller frees it (sr_free).  Larger than
// max_bytes, a directory, unreadable: SR_ERR_IO with the path.
SrStatus sr_file_read(const char *path, size_t max_bytes, char **data, size_t *bytes);
// The last max_bytes of a larger file, else the whole; everything else as sr_file_read.
SrStatus sr_file_read_end(const char *path, size_t max_bytes, char **data, size_t *bytes);
// Opens a regular file for reading, and follows no link under that name. The caller closes *fd.
SrStatus sr_file_open_own(const char *path, int *fd, size_t *bytes);
// Opens for appending, and makes the file if need be. A link or anything but a regular file under the name is SR_ERR_IO
// and stays as it is: lines of a run never go elsewhere.
SrStatus sr_file_append(const char *path, FILE **out);
// The file mapped read-only; unmap with sr_file_unmap.  An empty file gives data NULL, bytes 0.
SrStatus sr_file_map(const char *path, const void **data, size_t *bytes);
void sr_file_unmap(const void *data, size_t bytes);

// A writable mapping of a new file in `dir` that has no name and is gone with it; zeroes at first.
SrStatus sr_file_map_temporary(const char *dir, size_t bytes, void **data);
void sr_file_unmap_temporary(void *data, size_t bytes);

// Atomic replacement: open a temporary name in the same folder, write, then commit = flush, fsync,
// rename, fsync of the folder.  abort removes the temporary.  Exactly one of them ends the writing.
typedef struct {
    FILE *f;
    char *path;      // final name
    char *temporary; // removed by abort
} SrFileWriter;
SrStatus sr_file_begin(SrFileWriter *writer, const char *path);
SrStatus sr_file_commit(SrFileWriter *writer);
void sr_file_abort(SrFileWriter *writer);
SrStatus sr_file_write(const char *path, const void *data, size_t bytes); // the three in one

// Removes the temporaries in `dir` whose writers, processes of this host, no longer run.
void sr_file_remove_orphans(const char *dir);

// True also where the system cannot answer (EIO, ENOMEM): opening the file then gives the cause.
bool sr_file_exists(const char *path);
bool sr_file_is_link(const char *path);
// Can it be opened as a regular file?  SR_ERR_IO with the reason; what it holds is not looked at.
SrStatus sr_file_check_readable(const char *path);
// May a new file be written here?  SR_ERR_CONFIG for a folder, and for something that exists unless `force`.
SrStatus sr_file_check_new(const char *path, bool force);
bool sr_file_is_dir(const char *path);
SrStatus sr_file_mkdirs(const char *path);                      // like mkdir -p
SrStatus sr_file_symlink(const char *target, const char *path); // atomic; replaces an older link
SrStatus sr_file_remove(const char *path);                      // missing is fine
SrStatus sr_file_move(const char *from,
                      const char *to); // within a file system; what stands at `to` goes
// Claims a file for this process until sr_file_unlock or its end, however it ends; the file appears if
// need be, stays, and names the holder.  *out: the claim.  SR_ERR_IO when another process holds it: the message names it.
// Where the file system knows no locks, -1 and no protection.  A link or anything but a regular file under the
// name is SR_ERR_IO and stays as it is.
SrStatus sr_file_lock(const char *path, int *out);
void sr_file_unlock(int lock); // -1 is legal
// "dir/name" into a buffer of the caller's; SR_ERR_CONFIG if it does not fit.
SrStatus sr_file_join(char *out, size_t out_bytes, const char *dir, const char *name);
// Names in a folder, sorted by bytes, without "." and ".."; free with sr_file_list_free.
SrStatus sr_file_list(const char *dir, char ***names, int *n);
void sr_file_list_free(char **names, int n);

#endif
