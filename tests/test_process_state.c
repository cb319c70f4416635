// Restored state: the first test leaves everything set, as a failing test does, and the second
// finds the original state.
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "tests/check.h"
#include "tests/machine.h"

static char folder[4096];
static int threads;

TEST(test_leaves_all_set) {
    threads = sr_parallel_threads();
    CHECK(getcwd(folder, sizeof folder));
    test_machine()->conv_designs = 0;
    sr_parallel_set_threads(threads + 1);
    sr_log_set_level(SR_LOG_ERROR);
    sr_mem_fail_at(1);
    CHECK_INT(chdir("/"), 0);
}

TEST(test_finds_the_start) {
    char now[4096];
    CHECK_INT(sr_parallel_threads(), threads);
    CHECK_INT(test_machine()->conv_designs, SR_CONV_ALL);
    CHECK_INT(sr_log_set_level(SR_LOG_INFO), SR_LOG_INFO);
    void *p = sr_alloc(1);
    CHECK(p);
    sr_free(p);
    CHECK(getcwd(now, sizeof now));
    CHECK_STR(now, folder);
}

SR_TESTS(process_state, unit(test_leaves_all_set), unit(test_finds_the_start))
