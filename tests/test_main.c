// Tests the test program itself: names that nothing has are errors instead of no tests, and groups
// in processes of their own are counted.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/apart.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

// Runs this binary with a variable set; returns its exit code and its output.
static int run_with(const char *variable, const char *group, char *out, size_t n) {
    char self[PROGRAM_SELF], command[4096];
    program_self(self);
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
    CHECK(run_with("SR_TEST_MINUTES=6min", "text", out, sizeof out) != 0);
    CHECK(strstr(out, "SR_TEST_MINUTES is '6min'; expected minutes, or 0 for no limit"));
    CHECK_INT(run_with("SR_TEST_LOSS=swav_loss SR_TEST_OP=relu SR_TEST_MINUTES=0.5", "text", out,
                       sizeof out),
              0);
}

// Groups in processes of their own give the sums of the groups, and a misspelt one is an error.
TEST(test_groups_apart) {
    char out[8192];
    CHECK_INT(run_with("", "process_state text", out, sizeof out), 0);
    const char *apart = strstr(out, " passed, 0 failed, 0 skipped\n");
    CHECK(apart && atoi(apart - 2) > 2);
    int sum = atoi(apart - 2);
    CHECK_INT(run_with("", "-j1 process_state text", out, sizeof out), 0);
    const char *here = strstr(out, " passed, 0 failed, 0 skipped\n");
    CHECK(here);
    CHECK_INT(atoi(here - 2), sum);
    CHECK(run_with("", "process_state texr", out, sizeof out) != 0);
    CHECK(strstr(out, "unknown group of tests 'texr'; did you mean 'text'?"));
}

// Runs suites apart in a process whose output goes to the file out of dir.
static ApartCounts run_apart(const char *dir, const char *const *names, int n, double minutes) {
    ApartCounts sum;
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        char path[96];
        snprintf(path, sizeof path, "%s/out", dir);
        if (!freopen(path, "w", stdout))
            _exit(1);
        sum = apart_run(names, n, 2, minutes);
        fflush(stdout);
        if (write(ends[1], &sum, sizeof sum) != sizeof sum)
            _exit(1);
        _exit(0);
    }
    CHECK_INT(program_wait(child, NULL), 0);
    CHECK_INT(read(ends[0], &sum, sizeof sum), sizeof sum);
    close(ends[0]);
    close(ends[1]);
    return sum;
}

// A group that ends without its last line, as after a crash, counts as a failed test, and the
// output ends with what it said.
TEST(test_ended_group_fails) {
    char dir[64], out[1 << 15]; // the message names all groups
    temp_dir_make(dir);
    ApartCounts sum = run_apart(dir, (const char *const[]){"no such group", "process_state"}, 2, 0);
    CHECK_INT(sum.passed, 2);
    CHECK_INT(sum.failed, 1);
    CHECK_INT(sum.skipped, 0);
    program_read(dir, "out", out, sizeof out);
    const char *failed = "[  FAILED  ] suite no such group ended with exit code 2\n";
    const char *again = strstr(out, "== suite no such group failed, and said:\n");
    CHECK(strstr(out, failed) && again && strstr(out, failed) < again);
    CHECK_STR(again + strlen(again) - strlen(failed), failed);
    CHECK(!strstr(again, "[       OK ]"));
    temp_dir_remove(dir);
}

// A group that takes longer than it may is killed and counts as a failed test.
TEST(test_slow_group_fails) {
    char dir[64], out[4096];
    temp_dir_make(dir);
    ApartCounts sum = run_apart(dir, (const char *const[]){"process_state"}, 1, 1e-6);
    CHECK_INT(sum.passed, 0);
    CHECK_INT(sum.failed, 1);
    program_read(dir, "out", out, sizeof out);
    CHECK(strstr(out, "suite process_state was killed, because it had not ended in time\n"));
    temp_dir_remove(dir);
}

SR_TESTS(main, unit(test_names_in_the_environment), unit(test_groups_apart),
         unit(test_ended_group_fails), unit(test_slow_group_fails))
