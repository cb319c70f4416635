// The lock of a process that decodes images (sandbox.h).
#ifndef SR_DATA_SANDBOX_LOCK_H
#define SR_DATA_SANDBOX_LOCK_H

#include <stdbool.h>

// Allows this process memory, threads, and reading and writing what is open.  Every other system
// call fails from now on.  False: the system refuses the filter.
bool sr__sandbox_lock(void);

#endif
