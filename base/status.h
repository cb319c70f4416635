// Errors: a status for the program and one line of text for the user.
//
// Set-up code returns SrStatus and leaves a message in a thread-local slot; kernels return
// nothing and cannot fail.  A message says what happened, where (file:line or key), what was
// expected, what to do.
#ifndef SR_BASE_STATUS_H
#define SR_BASE_STATUS_H

#include "base/compiler.h"

typedef enum {
    SR_OK = 0,
    SR_ERR_CONFIG,    // configuration, arguments or input file is wrong: exit code 2
    SR_ERR_IO,        // the operating system refused: exit code 1
    SR_ERR_MEMORY,    // allocation failed: exit code 1
    SR_ERR_RUN,       // the run itself failed (NaN loss, too many bad images): exit code 1
    SR_ERR_INTERRUPT, // a signal arrived and the state was saved: exit code 128 + its number
} SrStatus;

// Records a message and returns `status`, so that `return sr_fail(...)` works.  The message
// replaces the thread's previous one.  At most 4095 bytes are kept, and control characters become
// '?'.
SrStatus sr_fail(SrStatus status, const char *fmt, ...) SR_PRINTF(2, 3);

// Records "out of memory for WHAT" and returns SR_ERR_MEMORY.
SrStatus sr_out_of_memory(const char *what, ...) SR_PRINTF(1, 2);

// Puts "prefix: " before the recorded message, for callers that know more about the place.
SrStatus sr_fail_prefix(SrStatus status, const char *fmt, ...) SR_PRINTF(2, 3);

// Returns the message of this thread's last failure; "": none, or cleared.  Valid until the next
// sr_fail.
SR_PUBLIC const char *sr_status_message(void);

// Clears the message after a failure that was reported and does not end the program.
void sr_status_clear(void);

// Returns the program's exit code for a status.  SR_ERR_INTERRUPT: 130; cli/program.c knows the
// signal.
int sr_status_exit_code(SrStatus status);

// Returns from the function if the call fails.  Functions that have to clean up use SR_TRY_GOTO.
#define SR_TRY(call)               \
    do {                           \
        SrStatus sr_try_ = (call); \
        if (sr_try_ != SR_OK)      \
            return sr_try_;        \
    } while (0)

// Returns from the function if an allocation failed; the rest says for what (sr_out_of_memory).
#define SR_TRY_MEMORY(pointer, ...)               \
    do {                                          \
        if (!(pointer))                           \
            return sr_out_of_memory(__VA_ARGS__); \
    } while (0)

// Jumps to the label `done:` if the call fails; needs a local `SrStatus status`.
#define SR_TRY_GOTO(call)    \
    do {                     \
        status = (call);     \
        if (status != SR_OK) \
            goto done;       \
    } while (0)

#define SR_FAIL(...) return sr_fail(__VA_ARGS__)

#endif
