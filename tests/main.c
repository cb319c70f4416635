// Runs the test groups that the build found; arguments name groups to run instead of all.
// SR_TEST_LOSS and SR_TEST_OP limit the contract tests to one plugin. Prints a line for each
// reason to skip tests, and finally "N passed, M failed, K skipped".
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/plugin/plugin.h"
#include "cli/restart.h"
#include "kernels/op.h"
#include "losses/loss.h"
#include "tests/check.h"

#include "gen/tests.def"

SR_PLUGIN_LIST(SrTestGroup, tests, groups)

static int wanted(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc < 2;
}

// A misspelt plugin name is an error: it would leave nothing to test, and pass.
static SrStatus check_names(void) {
    const char *loss = getenv("SR_TEST_LOSS"), *op = getenv("SR_TEST_OP");
    const SrLoss *some_loss;
    const SrOp *some_op;
    if (loss && sr_loss_find(loss, &some_loss) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "SR_TEST_LOSS");
    if (op && sr_op_find(op, &some_op) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "SR_TEST_OP");
    return SR_OK;
}

int main(int argc, char **argv) {
    sr_restart_with_settings(argv); // tests compute with the program's settings
    sr_parallel_init();
    process_state_remember();
    if (check_names() != SR_OK) {
        fprintf(stderr, "run-tests: %s\n", sr_status_message());
        return 2;
    }
    int passed = 0, failed = 0;
    for (int g = 0; groups[g]; g++) {
        if (!wanted(groups[g]->name, argc, argv))
            continue;
        int skipped = skip_count();
        int bad = _cmocka_run_group_tests(groups[g]->name, groups[g]->tests, (size_t)groups[g]->n,
                                          NULL, process_state_restore);
        failed += bad;
        passed += groups[g]->n - bad - (skip_count() - skipped);
    }
    skip_print();
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skip_count());
    return failed != 0 || passed + skip_count() == 0;
}
