// Tests `sslrun train --minutes N`: the epochs come from a measurement, and a run keeps them.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static char dir[64], folder[96];
static ProgramResult result;

// Returns the epochs that the line about --minutes gives; 0: there is none.
static int epochs_said(const char *before) {
    const char *line = strstr(result.err, before);
    line = line ? line : strstr(result.out, before);
    return line ? atoi(line + strlen(before)) : 0;
}

static void train(const char *word, const char *value) {
    program_run(&result, 1,
                (const char *const[]){"train", "tests/cli/tiny.yaml", folder, "TEST_MODEL=False",
                                      "DATA.TRAIN.DATA_LIMIT=16", "LOG_FREQUENCY=100000",
                                      "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1", word, value,
                                      NULL});
    CHECK_INT(result.code, 0);
}

// Trains 2 epochs, and again with the words: the folder's configuration keeps its epochs.
static void check_kept(const char *word, const char *value, const char *minutes) {
    char text[1 << 16], kept[160];
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s/run", dir);
    train("OPTIMIZER.num_epochs=2", NULL);
    train(word, value);
    snprintf(kept, sizeof kept, "%s: the run in %s/run was given ", minutes, dir);
    CHECK_INT(epochs_said(kept), 2);
    CHECK(strstr(result.err, "training has finished") ||
          strstr(result.out, "training has finished"));
    // Remarks about the configuration are printed once.
    const char *remark = strstr(result.err, "LOSS.swav_loss.num_crops: 3, inferred");
    CHECK(remark && !strstr(remark + 1, "LOSS.swav_loss.num_crops: 3, inferred"));
    program_read(dir, "run/train_config.yaml", text, sizeof text);
    CHECK(strstr(text, "num_epochs: 2\n"));
}

TEST(test_epochs_fit_and_stay) {
    temp_dir_make(dir);
    check_kept("--minutes", "1", "1 minute");
    temp_dir_remove(dir);
}

// Starts a run of ten minutes on so many images, stops it after the first step, and returns the
// epochs that it measured.
static int measured(const char *run, const char *images) {
    char text[1 << 16];
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s/%s", dir, run);
    pid_t pid = program_start(dir, 1,
                              (const char *const[]){"train", "tests/cli/tiny.yaml", folder, images,
                                                    "LOG_FREQUENCY=1", "--minutes", "10", NULL});
    char at[128];
    snprintf(at, sizeof at, "%s/%s", dir, run);
    program_wait_for_progress(at);
    CHECK(kill(pid, SIGTERM) == 0);
    CHECK_INT(program_wait(pid, NULL), 128 + SIGTERM);
    snprintf(at, sizeof at, "%s/train_config.yaml", run);
    program_read(dir, at, text, sizeof text);
    const char *epochs = strstr(text, "\n    num_epochs: ");
    CHECK(epochs != NULL);
    return atoi(epochs + strlen("\n    num_epochs: "));
}

// Sixty times the images have far fewer epochs, and the same command keeps the epochs of its run.
TEST(test_epochs_are_measured) {
    temp_dir_make(dir);
    int few = measured("large", "DATA.TRAIN.DATA_LIMIT=4200");
    int many = measured("small", "DATA.TRAIN.DATA_LIMIT=70");
    if (!(few >= 1 && many > 5 * few))
        fail_msg("%d epochs of 4,200 images, %d of 70", few, many);
    CHECK_INT(measured("small", "DATA.TRAIN.DATA_LIMIT=70"), many);
    temp_dir_remove(dir);
}

TEST(test_refused) {
    folder[0] = '\0';
    program_run(&result, 1, (const char *const[]){"tests/cli/tiny.yaml", "--minutes", "0", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "--minutes 0: expected a whole number from 1 on"));
    program_run(
        &result, 1,
        (const char *const[]){"tests/cli/tiny.yaml", "--minutes", "5", "--seeds", "2", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "several seeds need the same number of epochs"));
    program_run(&result, 1,
                (const char *const[]){"tests/cli/tiny.yaml", "--minutes", "5",
                                      "OPTIMIZER.num_epochs=3", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "leave it or OPTIMIZER.num_epochs=3 out"));
    program_run(&result, 1,
                (const char *const[]){"tests/cli/tiny.yaml", "OPTIMIZER.MINUTES=5",
                                      "OPTIMIZER.num_epochs=3", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "leave it or OPTIMIZER.num_epochs=3 out"));
    program_run(
        &result, 1,
        (const char *const[]){"tests/cli/tiny.yaml", "OPTIMIZER.MINUTES=5", "--seeds", "2", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "several seeds need the same number of epochs"));
    program_run(
        &result, 1,
        (const char *const[]){"tests/cli/tiny.yaml", "--minutes", "5", "TEST_ONLY=True", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "tests/cli/tiny.yaml trains nothing"));
    program_run(&result, 1,
                (const char *const[]){"train", "config=tests/cli/tiny.yaml", "--minutes", "5",
                                      "TEST_ONLY=True", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "tests/cli/tiny.yaml trains nothing"));
}

// The key of a configuration does what the flag does, and `train` alone reads it.
TEST(test_key) {
    temp_dir_make(dir);
    check_kept("OPTIMIZER.MINUTES=2", NULL, "2 minutes");
    program_run(&result, 1,
                (const char *const[]){"check", "tests/cli/tiny.yaml", "OPTIMIZER.MINUTES=2", NULL});
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "as many epochs as fit 2 minutes"));
    temp_dir_remove(dir);
}

SR_TESTS(minutes, unit(test_epochs_fit_and_stay), unit(test_epochs_are_measured), unit(test_key),
         unit(test_refused))
