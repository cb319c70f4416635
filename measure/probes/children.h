// Work in child processes, for a library that ends its process where memory is out.
#ifndef SR_MEASURE_PROBES_CHILDREN_H
#define SR_MEASURE_PROBES_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// Does piece i in a child.  Whatever it writes is gone with the child, except in memory from
// sr_map_shared.  False: memory is out.
typedef bool (*SrChildBody)(void *arg, int64_t i);

// Calls body(arg, i) once for each i in [0, n), spread over at most `children` processes, each with
// one thread.  They write nothing to standard error, and they end with this process.
// Returns SR_ERR_MEMORY if no child could start, if a body returned false, or if a signal ended a
// child; `what` names the work in the message.  The caller then discards all results.
SrStatus sr_in_children(int64_t n, int children, SrChildBody body, void *arg, const char *what);

#endif
