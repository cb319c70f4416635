// Memory and address space that this machine has left for a run.
#ifndef SR_BASE_MACHINE_H
#define SR_BASE_MACHINE_H

#include <stddef.h>

// Returns the bytes that can be allocated without swapping; 0: unknown.  The limits of this
// process's control groups and of its address space (ulimit -v) count.  Cached pages of files
// that the kernel would drop count as free.
size_t sr_memory_available(void);
// Returns the bytes by which the address space may still grow; SIZE_MAX: no limit.
size_t sr_address_space_left(void);

// Returns the available memory of a system whose /proc and /sys lie below `root`; "": this system.
// Ignores the limit of the address space.
size_t sr__memory_available_in(const char *root);

#endif
