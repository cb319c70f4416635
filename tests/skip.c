// Collects the reasons of skipped tests and prints them (skip.h).
#include "tests/skip.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/check.h"

enum { MAX_REASONS = 32 };

static struct {
    const char *reason, *cure;
    int tests;
} list[MAX_REASONS];
static int n_reasons;

void skip_test(const char *reason, const char *cure, const char *file, int line) {
    int i = 0;
    while (i < n_reasons && strcmp(list[i].reason, reason) != 0)
        i++;
    if (i == MAX_REASONS)
        fail_msg("%s:%d: more than %d reasons to skip a test", file, line, MAX_REASONS);
    n_reasons = i == n_reasons ? i + 1 : n_reasons;
    list[i].reason = reason;
    list[i].cure = cure;
    list[i].tests++;
    _skip(file, line);
    abort(); // not reached: cmocka leaves the test by a jump
}

int skip_count(void) {
    int n = 0;
    for (int i = 0; i < n_reasons; i++)
        n += list[i].tests;
    return n;
}

void skip_print(void) {
    for (int i = 0; i < n_reasons; i++)
        printf("%d skipped: %s%s%s\n", list[i].tests, list[i].reason,
               list[i].cure ? "; to run them: " : "", list[i].cure ? list[i].cure : "");
}
