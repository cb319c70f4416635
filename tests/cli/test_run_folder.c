// Runs in an existing folder: resuming with another batch size, restarting, the printed command
// that resumes, the log, and a missing evaluation.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "trainer/run/checkpoint.h"

#define CONFIG "tests/cli/tiny.yaml"
#define MAX_ARGS 8

typedef struct {
    char dir[64], run[80], key[128], err[1 << 15], out[1 << 15];
} Runs;

// Makes a folder whose name needs quotes in a shell.
static void open_runs(Runs *r) {
    temp_dir_make(r->dir);
    snprintf(r->run, sizeof r->run, "%s/it's [1]", r->dir);
    snprintf(r->key, sizeof r->key, "CHECKPOINT.DIR=\"%s\"", r->run);
}

static pid_t start(Runs *r, const char *const *extra) {
    const char *args[MAX_ARGS + 4] = {CONFIG, r->key, "LOSS.swav_loss.queue.queue_length=32"};
    for (int i = 0; extra[i]; i++)
        args[3 + i] = extra[i];
    return program_start(r->dir, 0, args);
}

static void finish(Runs *r, pid_t pid, int code) {
    int got = program_wait(pid, NULL);
    program_read(r->dir, "err", r->err, sizeof r->err);
    program_read(r->dir, "out", r->out, sizeof r->out);
    if (got != code)
        fail_msg("exit code %d, expected %d: %s", got, code, r->err);
}

static void train(Runs *r, int code, const char *const *extra) { finish(r, start(r, extra), code); }
#define TRAIN(r, code, ...) train(r, code, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static bool in_file(Runs *r, const char *name, const char *text) {
    char path[160], *data;
    size_t n;
    CHECK_OK(sr_file_join(path, sizeof path, r->run, name));
    if (sr_file_read(path, 1 << 20, &data, &n) != SR_OK)
        return false;
    bool found = strstr(data, text) != NULL;
    sr_free(data);
    return found;
}

static bool has(Runs *r, const char *name) {
    char path[160];
    CHECK_OK(sr_file_join(path, sizeof path, r->run, name));
    return sr_file_exists(path);
}

static SrPosition newest(Runs *r) {
    char path[160];
    SrPosition at;
    CHECK_OK(sr_file_join(path, sizeof path, r->run, "checkpoint.safetensors"));
    CHECK_OK(sr_checkpoint_position(path, &at));
    return at;
}

// Stops a run in its second epoch or later, without checkpoints by frequency: 70 images are 8
// batches of 8.
static void stop_midway(Runs *r) {
    struct timespec pause = {0, 2000000};
    pid_t pid = start(r, (const char *const[]){"CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1",
                                               "LOG_FREQUENCY=1", "OPTIMIZER.num_epochs=30", NULL});
    for (int i = 0; i < 5000 && !in_file(r, "stdout.json", "\"ep\": 1"); i++)
        nanosleep(&pause, NULL);
    CHECK(kill(pid, SIGTERM) == 0);
    finish(r, pid, 128 + SIGTERM);
}

TEST(test_other_batch_size) {
    Runs r;
    open_runs(&r);
    stop_midway(&r);
    SrPosition at = newest(&r);
    CHECK(at.stopped && at.epoch < 30 && at.batch_size == 8);
    TRAIN(&r, 0, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=32", "OPTIMIZER.num_epochs=30");
    CHECK(strstr(r.err, "the batch size is 32, but it was 8 in the checkpoint; training resumes "
                        "after the same images"));
    CHECK(!strstr(r.err, "training has finished"));
    CHECK_INT(newest(&r).iteration, 60);
    // A finished run is finished for any batch size.
    TRAIN(&r, 0, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=4", "OPTIMIZER.num_epochs=30");
    CHECK(strstr(r.err, "training has finished (60 updates, 30 epochs)"));
    CHECK(!strstr(r.out, "trained"));
    temp_dir_remove(r.dir);
}

// The last line is a command that can be pasted into a shell, with the number of updates of this
// process.
TEST(test_command_to_go_on) {
    Runs r;
    char command[4096];
    open_runs(&r);
    stop_midway(&r);
    int64_t done = newest(&r).iteration;
    const char *line = strstr(r.err, "to resume: ");
    CHECK(line);
    snprintf(command, sizeof command, "%.*s OPTIMIZER.num_epochs=3 > '%s/out' 2> '%s/err'",
             (int)strcspn(line + 10, "\n"), line + 10, r.dir, r.dir);
    int status = system(command);
    program_read(r.dir, "err", r.err, sizeof r.err);
    program_read(r.dir, "out", r.out, sizeof r.out);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: %s", command, r.err);
    CHECK(strstr(r.err, "resuming from"));
    if (done < 24) {
        char text[64];
        snprintf(text, sizeof text, "trained %d updates in", 24 - (int)done);
        CHECK(strstr(r.out, text));
    }
    temp_dir_remove(r.dir);
}

TEST(test_restart) {
    Runs r;
    open_runs(&r);
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1");
    SrPosition first = newest(&r);
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "--restart", "SEED_VALUE=3");
    CHECK(strstr(r.err, "starting again") && strstr(r.out, "trained 8 updates"));
    CHECK(strcmp(newest(&r).run.id, first.run.id) != 0);
    CHECK(has(&r, "earlier-1/model_final_checkpoint_phase0.safetensors"));
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "SEED_VALUE=3");
    CHECK(strstr(r.err, "training has finished"));
    TRAIN(&r, 2, "--restart", "TEST_ONLY=True");
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "CHECKPOINT.OVERWRITE_EXISTING=True");
    CHECK(strstr(r.out, "trained 8 updates") && has(&r, "earlier-2"));
    temp_dir_remove(r.dir);
}

// Without an intact checkpoint the run ends with a usage error instead of restarting over the old
// files.
TEST(test_damaged) {
    Runs r;
    char path[160];
    open_runs(&r);
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1");
    CHECK_OK(sr_file_join(path, sizeof path, r.run, "model_final_checkpoint_phase0.safetensors"));
    CHECK_OK(sr_file_write(path, "", 0));
    TRAIN(&r, 2, "OPTIMIZER.num_epochs=1");
    CHECK(strstr(r.err, "damaged checkpoint") && strstr(r.err, "--restart"));
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "--restart");
    temp_dir_remove(r.dir);
}

// Every start adds a heading to the log, followed by the lines about the configuration.
TEST(test_log) {
    Runs r;
    open_runs(&r);
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "VERBOSE=True");
    CHECK(in_file(&r, "log.txt", "==== ") && in_file(&r, "log.txt", CONFIG " 'CHECKPOINT.DIR="));
    CHECK(in_file(&r, "log.txt", "sslrun ") && in_file(&r, "log.txt", "; kernels "));
    CHECK(in_file(&r, "log.txt", "VERBOSE is accepted and changes nothing"));
    CHECK(!in_file(&r, "log.txt", "resuming from"));
    // A processor may have plain kernels only.
    bool other = strcmp(newest(&r).kernels, "plain") != 0;
    setenv("SR_CPU", "plain", 1);
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=2");
    unsetenv("SR_CPU");
    CHECK(in_file(&r, "log.txt", "OPTIMIZER.num_epochs=2\n") &&
          in_file(&r, "log.txt", "resuming from"));
    CHECK_STR(newest(&r).kernels, "plain");
    CHECK_INT(strstr(r.err, "continues with plain") != NULL, other);
    temp_dir_remove(r.dir);
}

// An evaluation that did not complete is made up for, and a complete one is not repeated.
TEST(test_evaluation_is_due) {
    Runs r;
    char path[160];
    open_runs(&r);
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "TEST_MODEL=True");
    CHECK(strstr(r.out, "kNN") && has(&r, "evaluated.json"));
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "TEST_MODEL=True");
    CHECK(strstr(r.err, "training has finished") && !strstr(r.out, "kNN"));
    CHECK_OK(sr_file_join(path, sizeof path, r.run, "evaluated.json"));
    CHECK_OK(sr_file_remove(path));
    TRAIN(&r, 0, "OPTIMIZER.num_epochs=1", "TEST_MODEL=True");
    CHECK(strstr(r.err, "training has finished") && strstr(r.out, "kNN") &&
          has(&r, "evaluated.json"));
    temp_dir_remove(r.dir);
}

SR_TESTS(run_folder, unit(test_other_batch_size), unit(test_command_to_go_on), unit(test_restart),
         unit(test_damaged), unit(test_log), unit(test_evaluation_is_due))
