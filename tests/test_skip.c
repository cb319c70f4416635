// Skipped tests are not counted as passed, as this program's own last lines show on a machine
// without mpirun.
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static char dir[64], text[1 << 16];

// Runs the tests `name` without any command in PATH and keeps their last lines.
static void run_group(const char *name, const char *environment) {
    char self[PROGRAM_SELF], line[5000];
    program_self(self);
    temp_dir_make(dir);
    snprintf(line, sizeof line, "%s %s %s >%s/out 2>/dev/null", environment, self, name, dir);
    CHECK_INT(system(line), 0);
    program_read(dir, "out", text, sizeof text);
    temp_dir_remove(dir);
}

TEST(test_skipped_are_counted) {
    run_group("rank_faults", "PATH=/nonexistent");
    CHECK(strstr(text, "openmpi-bin") && strstr(text, "\n0 passed, 0 failed, "));
    CHECK(!strstr(text, ", 0 skipped\n") && strstr(text, " skipped: th"));
    run_group("process_state", "");
    CHECK(strstr(text, "\n2 passed, 0 failed, 0 skipped\n"));
}

SR_TESTS(skip, unit(test_skipped_are_counted))
