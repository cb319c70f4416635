// Which machine this is, in a line for a log.
#ifndef SR_BASE_MACHINE_TEXT_H
#define SR_BASE_MACHINE_TEXT_H

#include <stddef.h>

// "host, AMD EPYC 7763 64-Core Processor, 64 cores"; what the system does not tell is left out.  Returns out.
const char *sr_machine_text(char *out, size_t bytes);

#endif
