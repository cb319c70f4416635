// Runs histories of simulated ranks (tests/histories) from seed 1 on, and checks that the simulator
// repeats them.  `make histories` runs 10,000.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { COUNT = PROGRAM_SANITIZED ? 20 : 200, REFUSED = 77, OUT_BYTES = 1 << 15 };

TEST(test_histories) {
    char dir[64], folder[PROGRAM_SELF], command[PROGRAM_SELF + 256], out[OUT_BYTES];
    temp_dir_make(dir);
    program_folder(folder);
    snprintf(command, sizeof command,
             "%s/run-histories --count %d --twice 10 --jobs 1 >%s/out 2>&1", folder, COUNT, dir);
    int code = system(command);
    program_read(dir, "out", out, sizeof out);
    temp_dir_remove(dir);
    if (WIFEXITED(code) && WEXITSTATUS(code) == REFUSED)
        SKIP("the system forbids process_vm_readv", "docker run --cap-add SYS_PTRACE ...");
    if (code != 0)
        fail_msg("%s", out);
}

SR_TESTS(histories, unit(test_histories))
