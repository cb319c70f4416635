// Starts the program again with settings that two libraries read before main runs.
#ifndef SR_CLI_RESTART_H
#define SR_CLI_RESTART_H

#include "kernels/core/cpu.h"

// Replaces this process by the same program with more environment variables, and returns when all
// of them are set already.  A user's own values stay.  It also returns when threads are bound to
// cores, since libgomp has bound this thread already and the new program would see one core, and
// when the program cannot be started again; it then only runs slower.
void sr_restart_with_settings(char **argv);

// Returns the kernels that OpenBLAS should use in place of those of `core`, as values of
// OPENBLAS_CORETYPE; NULL: it has chosen well.  Debian 12's OpenBLAS 0.3.21 takes its kernels of
// 2004 (Prescott) on every processor that is newer than itself, and has neither Cooperlake's nor
// Sapphire Rapids' kernels for them.
const char *sr_blas_core_instead(const char *core, SrCpuLevel level);
// Returns the name of the kernels that OpenBLAS uses in this process, such as "Haswell".
const char *sr_blas_core(void);

#endif
