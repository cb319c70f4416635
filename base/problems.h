// Several mistakes of one configuration: gathered while it is read, so that all are told at once.
#ifndef SR_BASE_PROBLEMS_H
#define SR_BASE_PROBLEMS_H

#include "base/arena.h"
#include "base/status.h"

enum { SR_PROBLEMS_MAX = 50 };

typedef struct {
    SrArena *arena; // of the lines; the caller's
    int n;
    const char *line[SR_PROBLEMS_MAX];
} SrProblems;

// SR_ERR_CONFIG with its message becomes SR_OK and one more line (a line already there is not repeated); every other
// status comes back as it is, and so does this one where `problems` is NULL or full.
SrStatus sr_problems_keep(SrProblems *problems, SrStatus status);
// No problem: SR_OK.  One: SR_ERR_CONFIG with its line.  Several: each as an error in the log, then SR_ERR_CONFIG with
// their number behind `what`, the file they are in.
SrStatus sr_problems_fail(const SrProblems *problems, const char *what);

#endif
