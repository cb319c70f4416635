// Tests faults of ranks: whatever ends one rank early, or prevents its start, ends all ranks with
// a line that says what happened and where.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/compiler.h"
#include "base/file.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static pid_t begin(const char *config, const char *dir, int ranks, const char *extra) {
    char key[128];
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    const char *args[] = {config, key, extra, NULL};
    return program_start_ranks(dir, ranks, 1, args);
}

// ---- signals and full disks

static bool is_saved(const char *dir) {
    char path[128];
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", dir);
    return sr_file_exists(path);
}

// One rank is asked to stop: all ranks finish the same step, rank 0 saves, and the exit code
// names the signal.
static void stop_with(int signal) {
    char dir[64], err[1 << 14];
    temp_dir_make(dir);
    pid_t mpirun = begin("tests/cli/tiny.yaml", dir, 2, "DATA.TRAIN.DATA_LIMIT=7000");
    program_wait_for_progress(dir);
    program_kill_rank(mpirun, 1, signal);
    int code = program_wait(mpirun, NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 128 + signal || !strstr(err, "updates and saved") || !is_saved(dir))
        fail_msg("signal %d, exit code %d: %s", signal, code, err);
    temp_dir_remove(dir);
}

TEST(test_signals) {
    program_need_ranks();
    stop_with(SIGTERM);
    stop_with(SIGINT);
}

// Rank 0 cannot write any more: it prints its line, no rank stays, and no partial file is left.
TEST(test_full_disk) {
    char dir[64], err[1 << 14];
    program_need_ranks();
    temp_dir_make(dir);
    pid_t mpirun = begin("tests/cli/tiny.yaml", dir, 2, "DATA.TRAIN.DATA_LIMIT=7000");
    program_wait_for_progress(dir);
    struct rlimit limit = {20000, RLIM_INFINITY};
    pid_t writer = program_rank(mpirun, 0);
    CHECK(writer > 0); // process 0 would be the tests themselves
    CHECK_INT(prlimit(writer, RLIMIT_FSIZE, &limit, NULL), 0);
    double began = program_now_ms();
    int code = program_wait(mpirun, NULL);
    program_read(dir, "err", err, sizeof err);
    const char *reason = strstr(err, "sslrun: rank 0 on ");
    if (code != 1 || !reason || !strstr(reason, "File too large") ||
        program_now_ms() - began > 5000)
        fail_msg("exit code %d: %s", code, err);
    CHECK_INT(program_wait(begin("tests/cli/tiny.yaml", dir, 2, "DATA.TRAIN.DATA_LIMIT=70"), NULL),
              0);
    temp_dir_remove(dir);
}

// ---- ranks with different settings

enum { COMMAND_BYTES = 1 << 15 };

// Runs each rank with its own command line, which must be refused before the run folder is made.
static void check_differs(const char *first, const char *second, const char *keys,
                          const char *wanted) {
    char dir[64], path[128], config[4096], err[1 << 14], command[COMMAND_BYTES];
    temp_dir_make(dir);
    CHECK(realpath("tests/cli/tiny.yaml", config) != NULL);
    snprintf(path, sizeof path, "%s/run", dir);
    snprintf(command, sizeof command,
             "K='%s CHECKPOINT.DIR=%s DISTRIBUTED.REPLICAS=2 %s'; timeout 60 mpirun "
             "--oversubscribe --allow-run-as-root -np 1 %s $K : -np 1 %s $K 2>%s/err",
             config, path, keys, first, second, dir);
    int code = system(command);
    program_read(dir, "err", err, sizeof err);
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 2 || !strstr(err, wanted) ||
        !strstr(err, "sslrun: rank 0 on ") || !strstr(err, "rank 1 on "))
        fail_msg("exit code %d: %s", code, err);
    CHECK(!sr_file_exists(path));
    temp_dir_remove(dir);
}

TEST(test_other_start) {
    char path[4096], other[4200], dir[64], command[COMMAND_BYTES];
    program_need_ranks();
    temp_dir_make(dir);
    program_path(path);
    snprintf(other, sizeof other, "env SR_CPU=plain %s", path);
    check_differs(path, other, "", "differ in the instructions of their processors");
    // One more byte at the end makes it a different file that works the same.
    snprintf(other, sizeof other, "%s/sslrun", dir);
    snprintf(command, sizeof command, "cp %s %s && echo >>%s", path, other, other);
    CHECK_INT(system(command), 0);
    check_differs(path, other, "", "differ in the program's file");
    snprintf(command, sizeof command, "sh -c 'exec %s \"$@\" OPTIMIZER.num_epochs=4' sh", path);
    check_differs(path, command, "",
                  "differ in the configuration: \"num_epochs: 4\" and \"num_epochs: 3\"");
    temp_dir_remove(dir);
}

static void add_image(const char *dir, const char *name, uint64_t seed) {
    uint8_t pixels[20 * 20 * 3];
    size_t bytes;
    fixture_noise(pixels, sizeof pixels, seed);
    void *png = fixture_png(pixels, 20, 20, 3, &bytes);
    fixture_write(dir, name, png, bytes);
    free(png);
}

static void run_in(const char *dir, const char *text) {
    char command[512];
    snprintf(command, sizeof command, "cd %s && %s", dir, text);
    CHECK_INT(system(command), 0);
}

// One path shows different files to each rank, as local disks of several machines do.
TEST(test_other_data) {
    static const struct {
        const char *edit, *wanted;
    } cases[] = {{"cp b/photos/y/0.png b/photos/y/3.png", "the number of training images"},
                 {"mv b/photos/y b/photos/z", "the classes of the training images"},
                 {"mv b/photos/y/0.png b/photos/y/9.png", "names or labels of the training images"},
                 {"cp b/photos/y/1.png b/photos/y/0.png", "the bytes of the training images"}};
    char path[4096];
    program_need_ranks();
    program_path(path);
    for (int i = 0; i < SR_COUNT(cases); i++) {
        char dir[64], first[4300], second[4300];
        temp_dir_make(dir);
        run_in(dir, "mkdir -p a/photos/x a/photos/y");
        for (int k = 0; k < 6; k++) {
            char name[32];
            snprintf(name, sizeof name, "a/photos/%s/%d.png", k % 2 ? "x" : "y", k / 2);
            add_image(dir, name, (uint64_t)k);
        }
        run_in(dir, "cp -r a b");
        run_in(dir, cases[i].edit);
        snprintf(first, sizeof first, "-wdir %s/a %s", dir, path);
        snprintf(second, sizeof second, "-wdir %s/b %s", dir, path);
        check_differs(
            first, second,
            "DATA.TRAIN.DATA_SOURCES=[disk_folder] DATA.TRAIN.DATA_PATHS=[photos] "
            "DATA.TRAIN.BATCHSIZE_PER_REPLICA=2 "
            "DATA.TRAIN.RANDOM_SYNTHETIC_IMAGES=False DATA.TRAIN.RANDOM_SYNTHETIC_LABELS=0 "
            "DATA.TRAIN.DEFAULT_GRAY_IMG_SIZE=224 DATA.TRAIN.DATA_LIMIT=-1 "
            "LOSS.swav_loss.queue.queue_length=0",
            cases[i].wanted);
        temp_dir_remove(dir);
    }
}

SR_TESTS(rank_faults, unit(test_signals), unit(test_full_disk), unit(test_other_start),
         unit(test_other_data))
