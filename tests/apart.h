// Runs suites in processes of their own, several at a time, so that a test that waits does not hold
// the others up.
#ifndef SR_TESTS_APART_H
#define SR_TESTS_APART_H

typedef struct {
    int passed, failed, skipped;
} ApartCounts;

// Starts this program once for each name, at most `jobs` (>= 1) at a time, and prints what each one
// said when it has ended. The output of suites that failed is printed once more at the end, so that
// the last lines of a log tell why. The suites share the cores: OMP_NUM_THREADS, if unset, becomes
// cores / jobs. A suite that ends without its last line counts as one failed test. Reasons to skip
// tests go to skip_add. A suite that has not ended after `minutes` (0: no limit) is killed, and
// what it said until then shows which test it was in: one that waits for ever would otherwise say
// nothing.
ApartCounts apart_run(const char *const *names, int n, int jobs, double minutes);

#endif
