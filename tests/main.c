// Runs every test group the build found; arguments: names of groups to run instead of all.
// Closes with "N passed, M failed" over all groups; each group prints cmocka's own lines.
#include <string.h>

#include "base/parallel.h"
#include "base/plugin.h"
#include "tests/check.h"

#include "gen/tests.def"

SR_PLUGIN_LIST(SrTestGroup, tests, groups)

static int wanted(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc < 2;
}

int main(int argc, char **argv) {
    sr_parallel_init();
    process_state_remember();
    int passed = 0, failed = 0;
    for (int g = 0; groups[g]; g++) {
        if (!wanted(groups[g]->name, argc, argv))
            continue;
        int bad = _cmocka_run_group_tests(groups[g]->name, groups[g]->tests, (size_t)groups[g]->n,
                                          NULL, process_state_restore);
        failed += bad;
        passed += groups[g]->n - bad;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
