// Being asked to stop, for passes over images that may take minutes: whoever runs them for a run that has state to
// save says how to ask, and the pass asks after every batch.
#ifndef SR_BASE_STOP_H
#define SR_BASE_STOP_H

#include "base/status.h"

// asked: non-zero when the process should stop; NULL: nobody asks any more (the start).  Of the whole process, set and
// asked by one thread.
void sr_stop_set(int (*asked)(void *arg), void *arg);
// SR_ERR_INTERRUPT when any rank is asked to stop; the pass gives up what it has.  Collective.
SrStatus sr_stop_check(void);

#endif
