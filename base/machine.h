// What this machine can give a run: memory, and room in the address space.
#ifndef SR_BASE_MACHINE_H
#define SR_BASE_MACHINE_H

#include <stddef.h>

// Bytes that can be allocated without swapping, within the limits of the control groups this process is in (pages of
// files that the kernel would drop do not count as used) and of its address space (ulimit -v); 0: unknown.
size_t sr_memory_available(void);
// What the address space may still grow by; SIZE_MAX: as much as it likes.
size_t sr_address_space_left(void);

// The same for a system whose /proc and /sys lie below `root` ("" is this one), without the address space.
size_t sr__memory_available_in(const char *root);

#endif
