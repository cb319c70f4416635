// Checks of environment variables at the start of the program.
#ifndef SR_CLI_ENVIRONMENT_H
#define SR_CLI_ENVIRONMENT_H

#include "base/status.h"

// Corrects an OMP_NUM_THREADS that is no number or asks for more than four threads per processor,
// and warns.  GNU's OpenMP ignores the one and starts the other's threads; LLVM's ends the program
// at its first call in both cases.  Call it first in main.
void sr_environment_threads(void);

// SR_ERR_CONFIG: unknown level in SR_CPU.
SrStatus sr_environment_check(void);

#endif
