// The communication library of a simulated rank.  It does nothing by itself: each call goes to the
// conductor, which moves the bytes and decides when the call returns.
#ifndef SR_TESTS_HISTORIES_RANK_LIBRARY_H
#define SR_TESTS_HISTORIES_RANK_LIBRARY_H

#include "base/ranks/comm.h"

extern const SrCommLibrary rank_library;

// Makes this process one of `size` ranks.  socket: its end of the connection to the conductor.
void rank_library_join(int socket, int rank, int size);

#endif
