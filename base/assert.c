// Ends the program at a broken invariant, so that a debugger or a core file shows where.
#include "base/assert.h"

#if SR_DEBUG
#include <stdio.h>
#include <stdlib.h>

void sr_assert_failed(const char *truth, const char *file, int line) {
    fprintf(stderr, "%s:%d: the invariant is broken: %s\n", file, line, truth);
    abort();
}
#else
typedef int sr_assert_is_empty; // ISO C wants a declaration in every file
#endif
