// Collects the reasons of skipped tests and prints them (skip.h).
#include "tests/skip.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/check.h"

enum { MAX_REASONS = 64 };

static struct {
    char line[512]; // reason and cure
    int tests;
} list[MAX_REASONS];
static int n_reasons;

void skip_add(int tests, const char *line) {
    int i = 0;
    while (i < n_reasons && strcmp(list[i].line, line) != 0)
        i++;
    if (i == MAX_REASONS)
        fail_msg("more than %d reasons to skip a test", MAX_REASONS);
    n_reasons = i == n_reasons ? i + 1 : n_reasons;
    snprintf(list[i].line, sizeof list[i].line, "%s", line);
    list[i].tests += tests;
}

void skip_test(const char *reason, const char *cure, const char *file, int line) {
    char text[sizeof list[0].line];
    snprintf(text, sizeof text, "%s%s%s", reason, cure ? "; to run them: " : "", cure ? cure : "");
    skip_add(1, text);
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
        printf("%d skipped: %s\n", list[i].tests, list[i].line);
}
