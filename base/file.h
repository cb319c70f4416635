// Files: bounded reading, and atomic writing, in which an incomplete file never replaces a
// complete one.
#ifndef SR_BASE_FILE_H
#define SR_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text/text.h"

// Returns a descriptor for reading, or -1 with errno, as open(2) does.  Repeats the call on EINTR
// and never waits for a pipe.
int sr_file_open_fd(const char *path);
// True: the errno of an open, stat or read is about this file alone, such as missing or forbidden.
// False: the system failed (EIO, EMFILE, ENFILE, ENOMEM, ESTALE), and the file may be intact.
bool sr_file_is_own_fault(int error);

// Opens a regular file for reading and gives its size.  The caller closes the descriptor.
SrStatus sr_file_open_regular(const char *path, int *fd, size_t *bytes);
// Reads a whole file.  *data has a NUL after *bytes bytes, and the caller frees it with sr_free.
// SR_ERR_IO: larger than max_bytes, no regular file, or unreadable.
SrStatus sr_file_read(const char *path, size_t max_bytes, char **data, size_t *bytes);
// Maps a file read-only; sr_file_unmap ends the mapping.  An empty file gives data NULL, bytes 0.
SrStatus sr_file_map(const char *path, const void **data, size_t *bytes);
void sr_file_unmap(const void *data, size_t bytes);

// Maps a new file in `dir`, writable and filled with zeros.  The file has no name and disappears
// with the mapping.
SrStatus sr_file_map_temporary(const char *dir, size_t bytes, void **data);
void sr_file_unmap_temporary(void *data, size_t bytes);
// Maps a file of its owner for reading and writing and makes it at least `bytes` long; new bytes
// are 0.  Writes reach the file even if the process is killed.  SR_ERR_IO: it is missing, a link or
// no regular file, or the disk is full.  sr_file_unmap_temporary ends the mapping.
SrStatus sr_file_map_shared(const char *path, size_t bytes, void **data);

// Replaces a file atomically.  begin opens a temporary file in the same folder, and the caller
// writes to f.  commit flushes, syncs, renames, and syncs the folder; abort removes the temporary
// file.  Exactly one of commit and abort ends the writing.  SR_ERR_IO of begin also means the name
// of a device, which a rename would replace.
typedef struct {
    FILE *f;
    char *path;      // final name
    char *temporary; // removed by abort
} SrFileWriter;
SrStatus sr_file_begin(SrFileWriter *writer, const char *path);
SrStatus sr_file_commit(SrFileWriter *writer);
void sr_file_abort(SrFileWriter *writer);
SrStatus sr_file_write(const char *path, const void *data, size_t bytes); // all at once
// Writes a text, which may be empty.  SR_ERR_MEMORY: a part of the text did not fit in memory.
SrStatus sr_file_write_text(const char *path, const SrText *text);

// Removes temporary files in `dir` whose writers were processes of this host that no longer run.
void sr_file_remove_orphans(const char *dir);

// True also if the system cannot answer (EIO, ENOMEM): opening the file then reports the cause.
bool sr_file_exists(const char *path);
bool sr_file_is_link(const char *path);
// Fills *st if there is such a file.  SR_ERR_IO: the system cannot tell (EIO, ENOMEM), also when it
// is asked again, and the message gives the reason.
struct stat;
SrStatus sr_file_look(const char *path, struct stat *st, bool *found);
SrStatus sr_file_check_known(const char *path); // checks that the system can tell
// Checks that a regular file can be opened; its contents are not read.  SR_ERR_IO gives the reason.
SrStatus sr_file_check_readable(const char *path);
// Checks that a new file may be written.  SR_ERR_CONFIG: a folder, or an existing file without
// `force`.  SR_ERR_IO: the system cannot tell.
SrStatus sr_file_check_new(const char *path, bool force);
bool sr_file_is_dir(const char *path);
SrStatus sr_file_mkdirs(const char *path);                      // like mkdir -p
SrStatus sr_file_symlink(const char *target, const char *path); // atomic; replaces an older link
SrStatus sr_file_remove(const char *path);                      // SR_OK if it is missing
// Renames within one file system and replaces `to`.
SrStatus sr_file_move(const char *from, const char *to);
// Writes "dir/name" into the caller's buffer.  SR_ERR_CONFIG: it does not fit.
SrStatus sr_file_join(char *out, size_t out_bytes, const char *dir, const char *name);
// Lists the names in a folder, sorted by bytes, without "." and "..".  sr_file_list_free frees
// them.
SrStatus sr_file_list(const char *dir, char ***names, int *n);
void sr_file_list_free(char **names, int n);

#endif
