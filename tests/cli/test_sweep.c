// Several seeds: one run folder each, and a table of their figures.
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // its texts are too large for the stack of a test

#define RUN(...) \
    program_run(&result, 1, (const char *const[]){"tests/cli/tiny.yaml", __VA_ARGS__, NULL})

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

TEST(test_seeds) {
    char dir[64], at[256], path[160];
    double loss[3], mean, deviation;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/it's, a sweep", dir);
    char quoted[160];
    snprintf(quoted, sizeof quoted, "CHECKPOINT.DIR='%s/it''s, a sweep'", dir);
    RUN("SEED_VALUE=4,7,9", quoted, "OPTIMIZER.num_epochs=1");
    expect(0, "3 seeds in ");
    const char *table = strstr(result.out, "  seed            loss ");
    CHECK(table != NULL);
    static const char *const names[] = {"  4 ", "  7 ", "  9 "};
    for (int i = 0; i < 3; i++) {
        const char *row = strstr(table, names[i]);
        CHECK(row && sscanf(row + 3, "%lf", &loss[i]) == 1);
        snprintf(at, sizeof at, "%s/seed%c/checkpoint.safetensors", path, names[i][2]);
        CHECK(sr_file_exists(at));
    }
    CHECK(sscanf(strstr(table, "  mean ") + 7, "%lf", &mean) == 1);
    CHECK(sscanf(strstr(table, "  deviation ") + 12, "%lf", &deviation) == 1);
    CHECK_NEAR(mean, (loss[0] + loss[1] + loss[2]) / 3, 2e-4);
    CHECK(loss[0] != loss[1] && deviation > 0);
    CHECK(strstr(result.err, " report '") && strstr(result.err, "compared.html'"));
    RUN("SEED_VALUE=4,7,9", quoted, "OPTIMIZER.num_epochs=1", "--json"); // finished before
    expect(0, "\"seeds\": 3, \"loss_mean\": ");
    temp_dir_remove(dir);
}

// A run's lines follow the sweep's -q.
TEST(test_quiet) {
    char dir[64], folder[96];
    temp_dir_make(dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", dir);
    RUN("--seeds", "2", folder, "OPTIMIZER.num_epochs=1", "-q");
    expect(0, "2 seeds in ");
    CHECK(!strstr(result.err, "epoch 0 done"));
    temp_dir_remove(dir);
}

static pid_t start_endless(const char *dir) {
    char folder[96], first[96];
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s/runs", dir);
    snprintf(first, sizeof first, "%s/runs/seed0", dir);
    pid_t pid = program_start(dir, 1,
                              (const char *const[]){"tests/cli/tiny.yaml", "--seeds", "2", folder,
                                                    "OPTIMIZER.num_epochs=2000", NULL});
    program_wait_for_progress(first);
    return pid;
}

// A signal to the sweep ends its run in order, with one notice; a run that dies by itself is
// reported as such.
TEST(test_signals) {
    char dir[64], err[8192];
    temp_dir_make(dir);
    pid_t pid = start_endless(dir);
    kill(pid, SIGTERM);
    CHECK_INT(program_wait(pid, NULL), 128 + SIGTERM);
    program_read(dir, "err", err, sizeof err);
    const char *notice = strstr(err, "finishing the step");
    CHECK(notice && !strstr(notice + 1, "finishing the step"));
    CHECK(strstr(err, "to resume: ") && strstr(err, "/runs/seed0\n"));
    CHECK(strstr(err, "stopped in the run of seed 0; the same command resumes it"));
    temp_dir_remove(dir);
    temp_dir_make(dir);
    pid = start_endless(dir);
    program_kill_rank(pid, 0, SIGKILL);
    CHECK_INT(program_wait(pid, NULL), 1);
    program_read(dir, "err", err, sizeof err);
    CHECK(strstr(err, "the run of seed 0 was ended by signal 9"));
    temp_dir_remove(dir);
}

TEST(test_mistakes) {
    RUN("SEED_VALUE=1,x");
    expect(2, "SEED_VALUE=1,x: expected at most 64 seeds");
    RUN("SEED_VALUE=1,2", "--seeds", "3");
    expect(2, "--seeds 3: ");
    RUN("OPTIMIZER.num_epochs=1,2");
    expect(2, "only SEED_VALUE of `sslrun train` takes several values");
}

SR_TESTS(sweep, unit(test_seeds), unit(test_quiet), unit(test_signals), unit(test_mistakes))
