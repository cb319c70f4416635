// Checks of environment variables at the start of the program.
#ifndef SR_CLI_ENVIRONMENT_H
#define SR_CLI_ENVIRONMENT_H

#include "base/status.h"

// SR_ERR_CONFIG: unknown level in SR_CPU.  An invalid or huge OMP_NUM_THREADS gives a warning; at
// most four threads per processor are used.  Call it before the first parallel loop.
SrStatus sr_environment_check(void);

#endif
