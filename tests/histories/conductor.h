// Runs the ranks of one start as processes of which one computes at a time.  A seed draws who goes
// on, which message moves, and thereby the whole schedule.
//
// The conductor also ends the ranks, as the command mpirun would.  If a rank is killed, aborts, or
// exits before it has stopped the library, the other ranks receive SIGTERM and a little later
// SIGKILL.  The job's exit code is that of the first rank that failed.
#ifndef SR_TESTS_HISTORIES_CONDUCTOR_H
#define SR_TESTS_HISTORIES_CONDUCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/histories/fault.h"
#include "tests/histories/wire.h"

enum { CONDUCT_FAULTS = WIRE_RANKS };

typedef struct {
    char *const *argv; // command line of every rank, NULL at the end
    const char *dir;   // receives err.0, err.1 ...: stderr of the ranks
    int ranks;         // 1: one process without a library, for references
    uint64_t seed;
    Fault faults[CONDUCT_FAULTS];
    int n_faults;
    bool show; // prints the schedule
} Start;

typedef struct {
    int code;              // of the job
    int exit[WIRE_RANKS];  // exit code of the rank, or 128 + signal
    bool self[WIRE_RANKS]; // the rank ended by itself, with an exit code
    int moments;           // how often a rank went on
    uint64_t hash;         // of the schedule and all bytes that were sent
    char defect[384];      // what must not happen, such as a hang; "": nothing
} Outcome;

void conduct(const Start *start, Outcome *outcome);

#endif
