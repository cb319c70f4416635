// One line for logs that describes this machine.
#ifndef SR_BASE_MACHINE_TEXT_H
#define SR_BASE_MACHINE_TEXT_H

#include <stddef.h>

// Writes "host, AMD EPYC 7763 64-Core Processor, 64 cores" without the parts that the system does
// not report.  Returns out.
const char *sr_machine_text(char *out, size_t bytes);

#endif
