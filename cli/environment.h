// What the environment says to the program, before anything is done.
#ifndef SR_CLI_ENVIRONMENT_H
#define SR_CLI_ENVIRONMENT_H

#include "base/status.h"

// SR_ERR_CONFIG for an SR_CPU nobody knows; a warning for an OMP_NUM_THREADS that cannot be meant,
// of which at most four threads a processor are used.  Before the first parallel loop.
SrStatus sr_environment_check(void);

#endif
