// Collects the mistakes of one configuration while it is read, so that all are reported at once.
#ifndef SR_BASE_PROBLEMS_H
#define SR_BASE_PROBLEMS_H

#include "base/arena.h"
#include "base/status.h"

enum { SR_PROBLEMS_MAX = 50 };

typedef struct {
    SrArena *arena;                    // owns the lines; the caller's
    int n;                             // number of problems
    const char *line[SR_PROBLEMS_MAX]; // (n) messages
} SrProblems;

// Keeps the message of an SR_ERR_CONFIG and returns SR_OK; a message already kept is not repeated.
// Returns every other status unchanged, and SR_ERR_CONFIG too if `problems` is NULL or full.
SrStatus sr_problems_keep(SrProblems *problems, SrStatus status);
// Fails if there are problems.  One: SR_ERR_CONFIG with its line.  Several: logs each as an
// error, then fails with SR_ERR_CONFIG and their number.  what: file that the message names.
SrStatus sr_problems_fail(const SrProblems *problems, const char *what);

#endif
