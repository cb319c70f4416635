// Tests the test program itself: a plugin name in the environment that no plugin has is an error
// instead of no tests.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

// Runs this binary with a variable set; returns its exit code and its output.
static int run_with(const char *variable, const char *group, char *out, size_t n) {
    char self[2048], command[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof command, "%s '%s' %s 2>&1", variable, self, group);
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    out[fread(out, 1, n - 1, pipe)] = '\0';
    return pclose(pipe);
}

TEST(test_names_in_the_environment) {
    char out[8192];
    CHECK(run_with("SR_TEST_LOSS=swav_los", "text", out, sizeof out) != 0);
    CHECK(strstr(out, "SR_TEST_LOSS: ") && strstr(out, "did you mean 'swav_loss'"));
    CHECK(run_with("SR_TEST_OP=reluu", "text", out, sizeof out) != 0);
    CHECK(strstr(out, "SR_TEST_OP: ") && strstr(out, "did you mean 'relu'"));
    CHECK_INT(run_with("SR_TEST_LOSS=swav_loss SR_TEST_OP=relu", "text", out, sizeof out), 0);
}

SR_TESTS(main, unit(test_names_in_the_environment))
