// Runs the test groups that the build found: [-jN] [GROUP ...]. Names limit it to these groups.
// Several groups run in processes of their own, N at a time (the number of cores, at most 8); -j1
// runs them in this process.
// SR_TEST_LOSS and SR_TEST_OP limit the contract tests to one plugin; SR_TEST_MINUTES kills groups
// in processes of their own that take longer. Prints a line for each reason to skip tests, and
// finally "N passed, M failed, K skipped".
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/plugin/plugin.h"
#include "cli/restart.h"
#include "kernels/op.h"
#include "losses/loss.h"
#include "tests/apart.h"
#include "tests/check.h"

#include "gen/tests.def"

SR_PLUGIN_LIST(SrTestGroup, tests, groups)

static int wanted(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc < 2;
}

static const char *group_name(int i) { return groups[i] ? groups[i]->name : NULL; }

// A misspelt name is an error: it would leave nothing to test, and pass.
static SrStatus check_names(int argc, char **argv) {
    for (int i = 1, found; i < argc; i++)
        SR_TRY(sr_plugin_find("group of tests", argv[i], group_name, &found));
    const char *loss = getenv("SR_TEST_LOSS"), *op = getenv("SR_TEST_OP");
    const SrLoss *some_loss;
    const SrOp *some_op;
    if (loss && sr_loss_find(loss, &some_loss) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "SR_TEST_LOSS");
    if (op && sr_op_find(op, &some_op) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "SR_TEST_OP");
    const char *minutes = getenv("SR_TEST_MINUTES");
    char *end = NULL;
    if (minutes && (!(strtod(minutes, &end) >= 0) || end == minutes || *end))
        SR_FAIL(SR_ERR_CONFIG, "SR_TEST_MINUTES is '%s'; expected minutes, or 0 for no limit",
                minutes);
    return SR_OK;
}

// Runs the groups in this process, one after the other.
static ApartCounts run_here(const SrTestGroup *const *wanted_groups, int n) {
    ApartCounts sum = {0};
    for (int g = 0; g < n; g++) {
        const SrTestGroup *group = wanted_groups[g];
        int skipped = skip_count();
        int bad = _cmocka_run_group_tests(group->name, group->tests, (size_t)group->n, NULL,
                                          process_state_restore);
        skipped = skip_count() - skipped;
        sum.failed += bad;
        sum.skipped += skipped;
        sum.passed += group->n - bad - skipped;
    }
    return sum;
}

static ApartCounts run_apart(const SrTestGroup *const *wanted_groups, int n, int jobs) {
    const char *names[SR_COUNT(groups)];
    for (int g = 0; g < n; g++)
        names[g] = wanted_groups[g]->name;
    const char *minutes = getenv("SR_TEST_MINUTES");
    return apart_run(names, n, jobs, minutes ? atof(minutes) : 0);
}

// Each core runs a suite, as far as memory surely suffices.
static int default_jobs(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return (int)SR_MAX(1, SR_MIN(cores, 8));
}

int main(int argc, char **argv) {
    sr_restart_with_settings(argv); // tests compute with the program's settings
    sr_parallel_init();
    process_state_remember();
    int jobs = default_jobs(), n = 0;
    if (argc > 1 && strncmp(argv[1], "-j", 2) == 0) {
        jobs = SR_MAX(1, atoi(argv[1] + 2));
        argv++, argc--;
    }
    if (check_names(argc, argv) != SR_OK) {
        fprintf(stderr, "run-tests: %s\n", sr_status_message());
        return 2;
    }
    const SrTestGroup *some[SR_COUNT(groups)];
    for (int g = 0; groups[g]; g++)
        if (wanted(groups[g]->name, argc, argv))
            some[n++] = groups[g];
    ApartCounts sum = n > 1 && jobs > 1 ? run_apart(some, n, jobs) : run_here(some, n);
    skip_print();
    printf("%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped);
    return sum.failed != 0 || sum.passed + sum.skipped == 0;
}
