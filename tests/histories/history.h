// One history: a command that its seed disturbs once or twice, and the same command afterwards.
//
// A history is right if three things hold.  Each disturbed start ends with the results of an
// undisturbed run, or every rank that was not killed prints one clear line.  The folder holds no
// half-written file.  The last start, which nothing disturbs, ends with those results, bit for bit.
#ifndef SR_TESTS_HISTORIES_HISTORY_H
#define SR_TESTS_HISTORIES_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/histories/conductor.h"
#include "tests/histories/methods.h"
#include "tests/histories/results.h"

typedef enum { ENDED_RIGHT, ENDED_STOPPED, ENDED_FAILED, ENDED_KILLED, ENDINGS } Ending;

typedef struct {
    char scratch[METHOD_PATH]; // folder of pictures, configurations and runs
    // Undisturbed runs, each made when it is first needed.
    struct {
        bool known;
        Results results;
        int moments;
    } reference[32][WIRE_RANKS + 1]; // [method][ranks]
} Laboratory;

typedef struct {
    char text[512];  // what happened, in clauses
    bool may_lack;   // a fault may have left out a probe or a test phase
    char wrong[512]; // why the history is wrong; "": it is right
    uint64_t hash;   // of its schedules, outcomes and results
    int method, starts, faults;
    int endings[ENDINGS]; // of disturbed starts
} History;

// Makes and removes the folder of all histories.
void laboratory_open(Laboratory *lab);
void laboratory_close(Laboratory *lab);
// Runs the history of a seed.  show: prints its schedule.
void history_run(Laboratory *lab, uint64_t seed, bool show, History *history);

#endif
