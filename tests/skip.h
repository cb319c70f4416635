// Skipped tests: those that cannot run on this machine are counted separately, with the reason
// and a way to run them.
#ifndef SR_TESTS_SKIP_H
#define SR_TESTS_SKIP_H

// Ends the test as skipped. reason: a clause such as "there is no browser". cure: a command that
// makes it run, such as "apt-get install chromium"; NULL: there is none.
#define SKIP(reason, cure) skip_test(reason, cure, __FILE__, __LINE__)
_Noreturn void skip_test(const char *reason, const char *cure, const char *file, int line);

// Counts tests that another process skipped. line: what skip_print wrote there after "N skipped: ".
void skip_add(int tests, const char *line);

// Returns the number of tests skipped so far.
int skip_count(void);
// Prints a line for each reason: the number of tests, the reason and the cure.
void skip_print(void);

#endif
