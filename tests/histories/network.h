// The network of a simulated run: operations that ranks have entered, and messages that are on
// their way.  It reads and writes the ranks' memory, but decides nothing: the conductor draws which
// of the possible moves happens next.
//
// The network takes every liberty that the MPI standard gives a library.  The first calls of all
// ranks on a communicator belong together, then the second ones, and so on.  A buffer is read at
// any moment between the call and its completion, and a block arrives at any later moment.  Until
// a block of a begin_* call arrives, its place holds NaN.
#ifndef SR_TESTS_HISTORIES_NETWORK_H
#define SR_TESTS_HISTORIES_NETWORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/histories/wire.h"

typedef struct Network Network;

// False: the system forbids to read the memory of another process.
bool network_is_allowed(void);

// A step of one message: rank `from` sends its part of an operation (to = -1), or the part arrives
// at rank `to`.
typedef struct {
    int64_t operation;
    int from, to;
} NetworkMove;

// pids: processes of the ranks (ranks), copied.
Network *network_new(int ranks, const pid_t *pids);
void network_free(Network *network);

// Enters a rank's call of an operation and returns its number; 0: another rank makes a different
// call at this place, which network_difference describes.
int64_t network_enter(Network *network, int rank, const WireCall *call);
const char *network_difference(const Network *network);
// True: the operation may return on this rank.
bool network_complete(const Network *network, int64_t operation, int rank);
// True: the operation cannot complete on this rank, since a line is cut.
bool network_lost(const Network *network, int64_t operation, int rank);
// Ends the operation on a rank; every rank leaves each operation once.
void network_leave(Network *network, int64_t operation, int rank);

// Writes the possible moves in a fixed order, and returns their number.
enum { NETWORK_MOVES = 512 };
int network_moves(const Network *network, NetworkMove moves[NETWORK_MOVES]);
void network_move(Network *network, const NetworkMove *move);

void network_cut(Network *network, int a, int b); // nothing arrives between them from now on
void network_bury(Network *network, int rank);    // the process is gone; sent messages still arrive
// Returns a number that depends on the bytes that were sent so far, but for broadcasts, and on
// their order.
uint64_t network_hash(const Network *network);

#endif
