// The thread-local slot for the last failure's message.
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 4096 };

static _Thread_local char message[MESSAGE_BYTES];

// The arguments may well point into `message` (a caller who quotes the last failure), so the text
// is made in a second buffer and copied.
SrStatus sr_fail(SrStatus status, const char *fmt, ...) {
    char fresh[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(fresh, sizeof fresh, fmt, args);
    va_end(args);
    memcpy(message, fresh, strlen(fresh) + 1);
    return status;
}

SrStatus sr_fail_prefix(SrStatus status, const char *fmt, ...) {
    char fresh[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(fresh, sizeof fresh, fmt, args);
    va_end(args);
    char joined[2 * MESSAGE_BYTES + 2];
    snprintf(joined, sizeof joined, "%s: %s", fresh, message);
    joined[MESSAGE_BYTES - 1] = '\0'; // the tail of an over-long message is what goes
    memcpy(message, joined, strlen(joined) + 1);
    return status;
}

const char *sr_status_message(void) { return message; }

int sr_status_exit_code(SrStatus status) {
    switch (status) {
    case SR_OK: return 0;
    case SR_ERR_CONFIG: return 2;
    case SR_ERR_INTERRUPT: return 130;
    case SR_ERR_IO:
    case SR_ERR_MEMORY:
    case SR_ERR_RUN: return 1;
    }
    return 1;
}
