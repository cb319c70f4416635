// The first test leaves everything set, as one that fails in the middle does; the second finds the process as it began.
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/cpu.h"
#include "tests/check.h"

static char folder[4096];
static SrCpuLevel level;
static int threads, emulates;

static bool is_plain(void) {
    SrConvShape shape = {.N = 1, .H = 16, .W = 16, .C = 32, .K = 32, .R = 3, .S = 3};
    shape.stride_h = shape.stride_w = shape.dilation_h = shape.dilation_w = shape.groups = 1;
    shape.pad_h = shape.pad_w = 1;
    sr_conv_shape(&shape);
    return strcmp(sr_conv_design(&shape, SR_CONV_FORWARD), "plain") == 0;
}

static void test_leaves_all_set(void **state) {
    (void)state;
    level = sr_cpu_level();
    threads = sr_parallel_threads();
    emulates = sr_cpu_emulates_tiles();
    CHECK(getcwd(folder, sizeof folder));
    sr_cpu_set_level(SR_CPU_PLAIN);
    sr_cpu_emulate_tiles(true);
    sr_conv_allow(0);
    sr_parallel_set_threads(threads + 1);
    sr_log_set_level(SR_LOG_ERROR);
    sr_mem_fail_at(1);
    CHECK(is_plain());
    CHECK_INT(chdir("/"), 0);
}

static void test_finds_the_start(void **state) {
    (void)state;
    char now[4096];
    CHECK_INT(sr_cpu_level(), level);
    CHECK_INT(sr_parallel_threads(), threads);
    CHECK_INT(sr_cpu_emulates_tiles(), emulates);
    CHECK_INT(sr_log_set_level(SR_LOG_INFO), SR_LOG_INFO);
    CHECK(!is_plain());
    void *p = sr_alloc(1);
    CHECK(p);
    sr_free(p);
    CHECK(getcwd(now, sizeof now));
    CHECK_STR(now, folder);
}

SR_TESTS(process_state, unit(test_leaves_all_set), unit(test_finds_the_start))
