// Errors: a status to branch on and one line of text for the person at the terminal.
//
// Set-up code returns SrStatus and leaves a message in a thread-local slot; kernels are void and cannot fail.
// A message says what, where (file:line or key), what was expected, what to do.
#ifndef SR_BASE_STATUS_H
#define SR_BASE_STATUS_H

#include "base/compiler.h"

typedef enum {
    SR_OK = 0,
    SR_ERR_CONFIG,    // the user's configuration, arguments or input file is wrong: exit code 2
    SR_ERR_IO,        // the operating system refused: exit code 1
    SR_ERR_MEMORY,    // allocation failed: exit code 1
    SR_ERR_RUN,       // the run itself failed (NaN loss, too many bad images): exit code 1
    SR_ERR_INTERRUPT, // a signal arrived and the state was saved: exit code 128 + its number
} SrStatus;

// Records the message (printf style, at most 4095 bytes kept, control characters become '?') and returns `status`, so that it can be
// the expression of a return statement.  The last message of a thread wins.
SrStatus sr_fail(SrStatus status, const char *fmt, ...) SR_PRINTF(2, 3);

// Puts "prefix: " before the message already recorded; for callers who know more about the place.
SrStatus sr_fail_prefix(SrStatus status, const char *fmt, ...) SR_PRINTF(2, 3);

// The message of this thread's last failure, "" if there was none or it is done with.  Valid until the next sr_fail.
SR_PUBLIC const char *sr_status_message(void);

// Empties that message: for who has told a failure and goes on, so that nobody takes it for a later one's.
void sr_status_clear(void);

// The exit code the command line gives for a status (SR_ERR_INTERRUPT: 130; main knows the signal).
int sr_status_exit_code(SrStatus status);

// Leaves the function at once with the callee's status.  Functions that own things use SR_TRY_GOTO.
#define SR_TRY(call)               \
    do {                           \
        SrStatus sr_try_ = (call); \
        if (sr_try_ != SR_OK)      \
            return sr_try_;        \
    } while (0)

// Needs a local `SrStatus status` and the one clean-up label `done:`.
#define SR_TRY_GOTO(call)    \
    do {                     \
        status = (call);     \
        if (status != SR_OK) \
            goto done;       \
    } while (0)

#define SR_FAIL(...) return sr_fail(__VA_ARGS__)

#endif
