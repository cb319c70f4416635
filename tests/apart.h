// Runs suites in processes of their own, several at a time, so that a test that waits does not hold
// the others up.
#ifndef SR_TESTS_APART_H
#define SR_TESTS_APART_H

typedef struct {
    int passed, failed, skipped;
} ApartCounts;

// Starts this program once for each name, at most `jobs` (>= 1) at a time, and prints what each one
// said when it has ended. The suites share the cores: OMP_NUM_THREADS, if unset, becomes cores /
// jobs. A suite that ends without its last line counts as one failed test. The
// lines of skipped tests are kept until apart_print_skipped.
ApartCounts apart_run(const char *const *names, int n, int jobs);
// Prints a line for each reason to skip tests: the number of tests and the cure, as skip_print.
void apart_print_skipped(void);

#endif
