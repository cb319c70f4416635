// Tests the training loop around the steps: lines that are written once although a run stops
// between epochs, the link to the newest checkpoint, and files that a restart moves.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/sandbox.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/skip.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

#define CONFIG "tests/cli/folder.yaml"
enum { IMAGES = 16, PATH = 512 };

static char dir[256];

static const char *in(const char *name) {
    static char path[4][PATH];
    static int next;
    char *to = path[next++ % 4];
    CHECK_OK(sr_file_join(to, PATH, dir, name));
    return to;
}

static void begin(void) {
    sr_log_set_level(SR_LOG_ERROR);
    fixture_folder(dir);
    fixture_class_folder(dir, "train", IMAGES);
    fixture_class_folder(dir, "test", IMAGES);
}

static SrStatus train(const SrTrainOptions *options, const char *extra, SrTrainResult *result) {
    char text[3][PATH];
    SrConfig *config;
    SrRun *run;
    snprintf(text[0], PATH, "DATA.TRAIN.DATA_PATHS=[%s]", in("train"));
    snprintf(text[1], PATH, "DATA.TEST.DATA_PATHS=[%s]", in("test"));
    snprintf(text[2], PATH, "CHECKPOINT.DIR=%s", in("run"));
    const char *const overrides[] = {text[0], text[1], text[2], extra};
    CHECK_OK(sr_config_load(CONFIG, overrides, extra ? 4 : 3, &config));
    SrStatus status = sr_train_run(config, options, &run, result);
    sr_run_close(run);
    sr_config_free(config);
    return status;
}

static int count_in(const char *name, const char *part) {
    char *text;
    size_t bytes;
    int n = 0;
    CHECK_OK(sr_file_read(in(name), 1 << 20, &text, &bytes));
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    sr_free(text);
    return n;
}

// Called before the first step, after each step except the last of an epoch, and after each batch
// of a test phase.
static int stop_at(void *arg) { return --*(int *)arg == 0; }

// A request that comes before the first step is heard: the run saves itself as it is.
TEST(test_stop_before_the_first_step) {
    int left = 1;
    SrTrainResult result;
    begin();
    SrTrainOptions options = {.random = true, .stop = stop_at, .stop_arg = &left};
    CHECK_FAILS(train(&options, NULL, &result), SR_ERR_INTERRUPT, "stopped after 0 of 12 updates");
    CHECK_INT(result.steps, 0);
    CHECK_OK(train(&(SrTrainOptions){.random = true}, NULL, &result));
    CHECK_INT(result.steps, 12);
    fixture_remove(dir);
}

// The run stops within the first test phase: the line of the epoch was written before, and a
// resume does not write it again.
TEST(test_an_epoch_is_written_once) {
    int left = 6; // before the 4 steps, 3 times between them, 2 batches of the test phase
    SrTrainResult result;
    begin();
    SrTrainOptions options = {.random = true, .stop = stop_at, .stop_arg = &left};
    CHECK_INT(train(&options, NULL, &result), SR_ERR_INTERRUPT);
    CHECK_INT(result.iterations, 4);
    CHECK_INT(count_in("run/metrics.json", "\"train_loss\""), 1);
    CHECK_OK(train(&(SrTrainOptions){.random = true}, NULL, &result));
    CHECK_INT(result.steps, 8);
    CHECK_INT(count_in("run/metrics.json", "\"train_loss\""), 3);
    CHECK_INT(count_in("run/metrics.json", "\"test_"), 3);
    fixture_remove(dir);
}

static void link_points_to(const char *name) {
    char target[PATH];
    ssize_t n = readlink(in("run/checkpoint.safetensors"), target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    CHECK_STR(target, name);
}

// A save was interrupted after the checkpoint and before the link: the next run repairs the link.
TEST(test_stale_link) {
    static const char final[] = "model_final_checkpoint_phase2.safetensors";
    SrTrainResult result;
    begin();
    CHECK_OK(train(&(SrTrainOptions){.random = true}, NULL, &result));
    link_points_to(final);
    CHECK_OK(sr_file_symlink("model_iteration8.safetensors", in("run/checkpoint.safetensors")));
    CHECK_OK(train(&(SrTrainOptions){.random = true}, NULL, &result));
    CHECK(result.already_finished);
    link_points_to(final);
    CHECK_OK(sr_file_remove(in("run/checkpoint.safetensors")));
    CHECK_OK(train(&(SrTrainOptions){.random = true}, "OPTIMIZER.num_epochs=4", &result));
    link_points_to("model_final_checkpoint_phase3.safetensors");
    fixture_remove(dir);
}

// A restart moves TensorBoard's event files, since events of two runs would be drawn as one
// curve.
TEST(test_restart_moves_events) {
    static const char events[] = "HOOKS.TENSORBOARD_SETUP.USE_TENSORBOARD=True";
    SrTrainResult result;
    char **names;
    int n;
    begin();
    CHECK_OK(train(&(SrTrainOptions){.random = true}, events, &result));
    CHECK_OK(train(&(SrTrainOptions){.random = true, .restart = true}, events, &result));
    CHECK(sr_file_is_dir(in("run/earlier-1/tb_logs")));
    CHECK_OK(sr_file_list(in("run/tb_logs"), &names, &n));
    CHECK_INT(n, 1);
    sr_file_list_free(names, n);
    fixture_remove(dir);
}

// Images that locked processes decode give the same run.
TEST(test_sandbox) {
    SrTrainResult plain, locked;
    if (!SR_SECCOMP)
        SKIP("the build has no libseccomp", "libseccomp-dev");
    if (PROGRAM_SANITIZED)
        SKIP(PROGRAM_SANITIZED_REASON, NULL);
    begin();
    CHECK_OK(train(&(SrTrainOptions){.random = true}, NULL, &plain));
    CHECK_OK(
        train(&(SrTrainOptions){.random = true, .restart = true}, "DATA.SANDBOX=True", &locked));
    CHECK(sr_sandbox_used() && locked.steps == plain.steps);
    CHECK(locked.last_loss == plain.last_loss);
    fixture_remove(dir);
}

SR_TESTS(train, unit(test_sandbox), unit(test_stop_before_the_first_step),
         unit(test_an_epoch_is_written_once), unit(test_stale_link),
         unit(test_restart_moves_events))
