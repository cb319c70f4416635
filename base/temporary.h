// Names of the temporary files that this process is writing, for a signal that ends it.
//
// base/file.c enters and removes names; the handlers of cli/interrupt.c remove the files.
#ifndef SR_BASE_TEMPORARY_H
#define SR_BASE_TEMPORARY_H

// Enters a copy of the name.  Does nothing if it is longer than 4095 bytes, or if 16 files are
// being written: such a file stays, and the next writer of the same name removes it.
void sr_temporary_add(const char *path);
void sr_temporary_remove(const char *path); // legal for a name that was not entered

// Removes the files of all names.  Legal in a signal handler, and errno is kept.
void sr_temporary_unlink_all(void);

#endif
