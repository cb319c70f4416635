// Requests to stop, on which all ranks agree.
#include "base/stop.h"

#include <stddef.h>

#include "base/ranks/comm.h"

static int (*stop_asked)(void *arg);
static void *stop_arg;

void sr_stop_set(int (*asked)(void *arg), void *arg) {
    stop_asked = asked;
    stop_arg = arg;
}

SrStatus sr_stop_check(void) {
    if (stop_asked && sr_comm_max(stop_asked(stop_arg)))
        SR_FAIL(SR_ERR_INTERRUPT, "stopped on request");
    return SR_OK;
}
