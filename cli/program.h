// The program from its arguments to its exit code.
#ifndef SR_CLI_PROGRAM_H
#define SR_CLI_PROGRAM_H

#include "base/ranks/comm.h"

// Runs one command in this process and returns its exit code: 0, 1 failed, 2 usage or
// configuration, 128 + signal.  Handlers of signals stay installed, and a failure of one of several
// ranks does not return.
// library: connects the ranks; NULL if the build has none.  argv: argc words and NULL; -q and -v
// are removed.
int sr_program(const SrCommLibrary *library, int argc, char **argv);

#endif
