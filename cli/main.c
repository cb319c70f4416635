// sslrun: the program with the message-passing library of this build.
#include <stddef.h>

#include "base/ranks/comm_mpi.h"
#include "cli/program.h"
#include "gen/build.h"

#if SR_MPI
static const SrCommLibrary *const library = &sr_comm_mpi;
#else
static const SrCommLibrary *const library = NULL;
#endif

int main(int argc, char **argv) { return sr_program(library, argc, argv); }
