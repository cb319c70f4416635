// Runs the golden cases of tests/golden/cases by the golden runner next to the test binary.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/program.h"

enum { CASES = 142 }; // number of JSON manifests in tests/golden/cases

// Every case in the tree passes; a failure prints the runner's line for each failed case.
TEST(test_cases_in_the_tree) {
    char self[PROGRAM_SELF], command[4096], line[4096], last[4096] = "";
    program_folder(self);
    snprintf(command, sizeof command, "'%s/run-golden' tests/golden/cases 2>&1", self);
    FILE *runner = popen(command, "r");
    CHECK(runner);
    while (fgets(line, sizeof line, runner)) {
        if (strstr(line, "FAIL") || strstr(line, "skip:"))
            print_message("%s", line);
        snprintf(last, sizeof last, "%s", line);
    }
    CHECK_INT(pclose(runner), 0);
    char expected[100];
    snprintf(expected, sizeof expected, "%d passed, 0 failed, 0 skipped\n", CASES);
    CHECK_STR(last, expected);
}

SR_TESTS(golden_cases, unit(test_cases_in_the_tree))
