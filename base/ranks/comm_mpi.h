// Open MPI as the library of base/ranks/comm.h, in builds that found it (SR_MPI in gen/build.h).
// Programs pass it to sr_comm_start; a program that never does so is not linked with MPI.
#ifndef SR_BASE_RANKS_COMM_MPI_H
#define SR_BASE_RANKS_COMM_MPI_H

#include "base/ranks/comm.h"

extern const SrCommLibrary sr_comm_mpi;

#endif
