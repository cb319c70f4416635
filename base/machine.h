// What this machine has to give.
#ifndef SR_BASE_MACHINE_H
#define SR_BASE_MACHINE_H

#include <stddef.h>

// Bytes that can be allocated without swapping, within the limits of the control group; 0: unknown.
size_t sr_memory_available(void);

#endif
