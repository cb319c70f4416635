// Requests to stop during passes over images, which may take minutes.  A run that has state to save
// sets a function that tells whether to stop, and the pass calls it after every batch.
#ifndef SR_BASE_STOP_H
#define SR_BASE_STOP_H

#include "base/status.h"

// Sets the function for the whole process; NULL, as at first: never stop.
// asked: returns non-zero if the process should stop.
// One thread sets the function and calls sr_stop_check.
void sr_stop_set(int (*asked)(void *arg), void *arg);
// Returns SR_ERR_INTERRUPT if any rank should stop; the pass then discards its result.  All ranks
// call it together.
SrStatus sr_stop_check(void);

#endif
