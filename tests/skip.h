// Tests that cannot run on this machine: counted apart from those that pass, with the reason and what would let them run.
#ifndef SR_TESTS_SKIP_H
#define SR_TESTS_SKIP_H

// Ends the test.  reason: a clause, as in "there is no browser".  cure: what lets it run, as in
// "apt-get install chromium"; NULL: nothing does here.  Both outlive the process's last test.
#define SKIP(reason, cure) skip_test(reason, cure, __FILE__, __LINE__)
_Noreturn void skip_test(const char *reason, const char *cure, const char *file, int line);

// Tests skipped so far.
int skip_count(void);
// Prints a line for each reason: how many tests it kept from running, and the cure.
void skip_print(void);

#endif
