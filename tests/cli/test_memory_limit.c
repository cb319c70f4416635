// The program trains with little address space (ulimit -v).  Without vectors it multiplies by
// OpenBLAS, which needs much more; it then ends with a line where OpenBLAS would retry for ever.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/machine.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { MOST_SECONDS = 30 };

// Returns the exit code, or -1 if the process did not end in time.
static int wait_for(pid_t pid) {
    int status;
    for (int i = 0; i < MOST_SECONDS * 50; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        usleep(20000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

// Runs the program under the limit. The limit applies to the child only, so that this process
// keeps its memory.
static int run_limited(const char *dir, rlim_t bytes, const char *const *args) {
    struct rlimit before, limited;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    limited = before;
    limited.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_AS, &limited) == 0);
    pid_t pid = program_start(dir, 2, args);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    return wait_for(pid);
}

TEST(test_little_address_space) {
    char dir[64], run[128], err[4096];
    if (PROGRAM_SANITIZED) // a sanitizer's shadow memory takes terabytes
        SKIP(PROGRAM_SANITIZED_REASON, NULL);
#ifdef __clang__
    SKIP("LLVM's OpenMP ends the program when memory is short", NULL);
#endif
    temp_dir_make(dir);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s/run", dir);
    const char *const train[] = {"tests/cli/tiny.yaml", run, "OPTIMIZER.num_epochs=1", NULL};
    // The libraries of picture formats alone take some 100 MiB of addresses.
    const rlim_t limits[] = {160 << 20, 250 << 20};
    if (sr_machine_default()->level > SR_CPU_PLAIN)
        CHECK_INT(run_limited(dir, limits[1], train), 0);
    CHECK(setenv("SR_CPU", "plain", 1) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(run_limited(dir, limits[i], train), 1);
        program_read(dir, "err", err, sizeof err);
        if (!strstr(err, "OpenBLAS needs ") || !strstr(err, "ulimit -v"))
            fail_msg("expected a line about OpenBLAS's work space, got:\n%s", err);
    }
    CHECK_INT(run_limited(dir, 160 << 20, (const char *const[]){"list", NULL}), 0);
    CHECK_INT(run_limited(dir, 800 << 20, train), 0);
    CHECK(unsetenv("SR_CPU") == 0);
    temp_dir_remove(dir);
}

SR_TESTS(memory_limit, unit(test_little_address_space))
