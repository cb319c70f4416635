// The thread-local message of the last failure, and exit codes.
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/number.h"
#include "base/text/text.h"

enum { MESSAGE_BYTES = 4096 };

static _Thread_local char message[MESSAGE_BYTES];

// Stores a message as one line: control characters from names of files and keys become '?'.  A
// message that is too long loses its end.
static void keep(const char *fresh) {
    size_t len = strnlen(fresh, sizeof message - 1);
    memcpy(message, fresh, len);
    message[len] = '\0';
    sr_text_disarm(message, "");
}

// Formats into a second buffer, because the arguments may point into `message` when a caller
// quotes the last failure.
SrStatus sr_fail(SrStatus status, const char *fmt, ...) {
    char fresh[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(fresh, sizeof fresh, fmt, args);
    va_end(args);
    keep(fresh);
    return status;
}

SrStatus sr_out_of_memory(const char *what, ...) {
    char fresh[MESSAGE_BYTES];
    va_list args;
    va_start(args, what);
    sr_number_vprint(fresh, sizeof fresh, what, args);
    va_end(args);
    return sr_fail(SR_ERR_MEMORY, "out of memory for %s", fresh);
}

SrStatus sr_fail_prefix(SrStatus status, const char *fmt, ...) {
    char fresh[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(fresh, sizeof fresh, fmt, args);
    va_end(args);
    char joined[2 * MESSAGE_BYTES + 2];
    snprintf(joined, sizeof joined, "%s: %s", fresh, message);
    keep(joined);
    return status;
}

const char *sr_status_message(void) { return message; }

void sr_status_clear(void) { message[0] = '\0'; }

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
