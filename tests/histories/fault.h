// Disturbances of a simulated run, drawn by the seed of its history.
#ifndef SR_TESTS_HISTORIES_FAULT_H
#define SR_TESTS_HISTORIES_FAULT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/rng.h"

typedef enum {
    FAULT_NONE,   // slow ranks and messages alone
    FAULT_KILL,   // SIGKILL
    FAULT_CUT,    // no message arrives between two ranks any more
    FAULT_SIGNAL, // a request to stop
    FAULT_DISK,   // no file of the rank grows beyond n bytes
    FAULT_FILES,  // the rank can open no more files
    FAULT_MEMORY, // the rank's n-th allocation fails
    FAULT_KINDS
} FaultKind;

typedef struct {
    FaultKind kind;
    int moment; // happens when ranks have gone on so many times
    int rank;
    int other;  // of a cut: the other rank
    int signal; // of FAULT_SIGNAL
    int64_t n;
} Fault;

// moments: those of an undisturbed run.
Fault fault_draw(SrRng *rng, int ranks, int moments);
// Strikes a process that waits for the conductor.  The conductor itself cuts lines and makes
// allocations fail.
void fault_strike(const Fault *fault, pid_t pid);
// Describes a fault in a clause, such as "at moment 17 rank 1 is killed".
void fault_text(const Fault *fault, char text[96]);

#endif
