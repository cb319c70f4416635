// Runs that are killed, interrupted, or given another number of threads end in the same bits.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/own_file.h"
#include "base/rng.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

#define CONFIG "tests/cli/tiny.yaml"
#define FINAL "model_final_checkpoint_phase2.safetensors"
#define KILLS 20

static pid_t start_run(const char *dir, int threads, const char *extra) {
    char key[128];
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    const char *args[] = {CONFIG, key, extra, NULL};
    return program_start(dir, threads, args);
}

static void finish_run_with(const char *dir, int threads, const char *extra) {
    char err[1 << 14];
    int code = program_wait(start_run(dir, threads, extra), NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 0)
        fail_msg("exit code %d: %s", code, err);
}

static void finish_run(const char *dir, int threads) { finish_run_with(dir, threads, NULL); }

static void check_same_final(const char *a, const char *b) {
    char x[128], y[128];
    snprintf(x, sizeof x, "%s/" FINAL, a);
    snprintf(y, sizeof y, "%s/" FINAL, b);
    check_same_checkpoint(x, y, 100);
}

// Starts a run and kills it after half of `length` milliseconds.
static void kill_run_midway(const char *dir, const char *extra, double length) {
    pid_t pid = start_run(dir, 1, extra);
    program_sleep_ms(0.5 * length);
    kill(pid, SIGKILL);
    program_wait(pid, NULL);
}

// Kills a run at random moments of its length and restarts it each time. A completed run is
// compared and a new one started, until there were enough kills. The first run may have met a busy
// machine: a whole run that ends before its kill makes the next kills come earlier, since otherwise
// none might ever meet a run.
TEST(test_sigkill) {
    char whole[64], dir[64];
    temp_dir_make(whole);
    double began = program_now_ms();
    finish_run(whole, 2);
    double length = program_now_ms() - began;
    SrRng rng = sr_rng((uint64_t)began, SR_RNG_TEST, 0, 0, 0, 0);
    int kills = 0, compared = 0;
    while (kills < KILLS || compared == 0) {
        temp_dir_make(dir);
        for (bool ended = false, whole_one = true; !ended; whole_one = false) {
            pid_t pid = start_run(dir, 1 + kills % 2, NULL);
            if (kills < KILLS) {
                program_sleep_ms(sr_rng_range(&rng, 0.1, 0.7) * length);
                kill(pid, SIGKILL);
            }
            int code = program_wait(pid, NULL);
            kills += code == 128 + SIGKILL;
            ended = code == 0;
            CHECK(ended || code == 128 + SIGKILL);
            if (ended && whole_one)
                length *= 0.7;
        }
        check_same_final(whole, dir);
        compared++;
        temp_dir_remove(dir);
    }
    temp_dir_remove(whole);
}

TEST(test_threads) {
    char one[64], two[64];
    temp_dir_make(one);
    temp_dir_make(two);
    finish_run(one, 1);
    finish_run(two, 2);
    check_same_final(one, two);
    temp_dir_remove(one);
    temp_dir_remove(two);
}

// Compares a complete run with two threads and one with one thread that was killed midway. The
// log must contain `text`.
static void check_killed_run(const char *setting, const char *text) {
    char whole[64], dir[64], err[1 << 14];
    temp_dir_make(whole);
    temp_dir_make(dir);
    double began = program_now_ms();
    finish_run_with(whole, 2, setting);
    program_read(whole, "err", err, sizeof err);
    CHECK(strstr(err, text));
    double length = program_now_ms() - began;
    kill_run_midway(dir, setting, length);
    finish_run_with(dir, 1, setting);
    check_same_final(whole, dir);
    temp_dir_remove(whole);
    temp_dir_remove(dir);
}

TEST(test_bf16) { check_killed_run("MODEL.AMP_PARAMS.USE_AMP=True", "bfloat16"); }

TEST(test_replicas) {
    check_killed_run("DISTRIBUTED.REPLICAS=2", "each step has 2 replicas of 8 images");
}

// Two accumulation rounds per update: no checkpoint holds a partial sum, so a run resumes after
// complete updates.
TEST(test_accumulation) {
    check_killed_run("OPTIMIZER.gradient_accumulation_steps=2",
                     "each step has 2 replicas of 8 images");
}

// The order of tar shards is a function of the epoch and not of what a reader has read.
TEST(test_shards) {
    char home[64], setting[256];
    temp_dir_make(home);
    program_pack(home, 70);
    snprintf(setting, sizeof setting,
             "DATA.TRAIN={DATA_SOURCES: [webdataset], DATA_PATHS: [%s/shards], DATA_LIMIT: -1}",
             home);
    check_killed_run(setting, "70 images in 2 classes");
    temp_dir_remove(home);
}

// ---- probes between epochs ----------------------------------------------------------------------

#define PROBES "HOOKS.PROBE.EVERY_NUM_EPOCHS=1"
#define EPOCHS 3

typedef struct {
    int n;
    double knn, linear;
} ProbeLine;

static double field_of(const char *line, const char *key) {
    const char *at = strstr(line, key);
    CHECK(at && (at = strchr(at, ':')));
    return strtod(at + 1, NULL);
}

// Reads the last line of each epoch and the number of lines: a run killed between a probe and its
// checkpoint has two.
static void read_probes(const char *dir, ProbeLine out[EPOCHS]) {
    char text[1 << 14];
    program_read(dir, "metrics.json", text, sizeof text);
    memset(out, 0, EPOCHS * sizeof *out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (!strstr(line, "probe_knn_top1"))
            continue;
        int epoch = (int)field_of(line, "train_phase_idx");
        CHECK(epoch >= 0 && epoch < EPOCHS);
        out[epoch] = (ProbeLine){out[epoch].n + 1, field_of(line, "probe_knn_top1"),
                                 field_of(line, "probe_linear_top1")};
    }
}

// Probes do not change the bits of training, also in a run that is killed midway; repeated probes
// give the same figures.
TEST(test_probes) {
    char plain[64], whole[64], dir[64];
    ProbeLine none[EPOCHS], expected[EPOCHS], got[EPOCHS];
    temp_dir_make(plain);
    temp_dir_make(whole);
    temp_dir_make(dir);
    finish_run(plain, 1);
    double began = program_now_ms();
    finish_run_with(whole, 2, PROBES);
    double length = program_now_ms() - began;
    kill_run_midway(dir, PROBES, length);
    finish_run_with(dir, 2, PROBES);
    check_same_final(plain, whole);
    check_same_final(plain, dir);
    read_probes(plain, none);
    read_probes(whole, expected);
    read_probes(dir, got);
    for (int i = 0; i < EPOCHS; i++) {
        CHECK_INT(none[i].n, 0);
        CHECK_INT(expected[i].n, 1);
        CHECK(got[i].n >= 1 && got[i].knn == expected[i].knn &&
              got[i].linear == expected[i].linear);
    }
    temp_dir_remove(plain);
    temp_dir_remove(whole);
    temp_dir_remove(dir);
}

// Returns the folder of an undisturbed run for comparison, which is made once.
static const char *whole_run(void) {
    static char dir[64];
    if (!*dir) {
        temp_dir_make(dir);
        finish_run(dir, 0);
    }
    return dir;
}

static void interrupt_with(int signal_number, int expected) {
    char dir[64], err[1 << 14];
    temp_dir_make(dir);
    pid_t pid = start_run(dir, 0, "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1");
    program_wait_for_progress(dir);
    CHECK(kill(pid, signal_number) == 0);
    int code = program_wait(pid, NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != expected || !strstr(err, "saved") || !strstr(err, "to resume: "))
        fail_msg("exit code %d: %s", code, err);
    finish_run(dir, 0);
    program_read(dir, "err", err, sizeof err);
    CHECK(strstr(err, "resuming from"));
    check_same_final(whole_run(), dir);
    // A finished run reports that, does nothing, and exits with 0.
    finish_run(dir, 0);
    program_read(dir, "err", err, sizeof err);
    CHECK(strstr(err, "training has finished"));
    temp_dir_remove(dir);
}

TEST(test_sigterm) { interrupt_with(SIGTERM, 128 + SIGTERM); }

TEST(test_sigint) { interrupt_with(SIGINT, 128 + SIGINT); }

// A closed terminal sends SIGHUP.
TEST(test_sighup) { interrupt_with(SIGHUP, 128 + SIGHUP); }

// Batch systems send SIGUSR1 as a warning.
TEST(test_sigusr1) { interrupt_with(SIGUSR1, 128 + SIGUSR1); }

// Sends two signals before a step ends. Returns the exit code.
static int stop_twice(const char *dir, int first, int second, char *err, int n) {
    pid_t pid = start_run(dir, 0, "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1");
    program_wait_for_progress(dir);
    CHECK(kill(pid, SIGSTOP) == 0 && kill(pid, first) == 0 && kill(pid, second) == 0);
    CHECK(kill(pid, SIGCONT) == 0);
    int code = program_wait(pid, NULL);
    program_read(dir, "err", err, n);
    return code;
}

// A second signal that a person sends ends the process at once; a second one of a terminal or a
// batch system does not.
TEST(test_second_signal) {
    char dir[64], err[1 << 14];
    temp_dir_make(dir);
    int code = stop_twice(dir, SIGINT, SIGTERM, err, sizeof err);
    CHECK((code == 128 + SIGINT || code == 128 + SIGTERM) && !strstr(err, "and saved"));
    temp_dir_remove(dir);
    temp_dir_make(dir);
    code = stop_twice(dir, SIGHUP, SIGUSR1, err, sizeof err);
    CHECK((code == 128 + SIGHUP || code == 128 + SIGUSR1) && strstr(err, "and saved"));
    temp_dir_remove(dir);
}

// Under nohup an ignored SIGHUP stays ignored and does not stop the run.
TEST(test_nohup) {
    char dir[64];
    temp_dir_make(dir);
    program_nohup = true;
    pid_t pid = start_run(dir, 0, NULL);
    program_nohup = false;
    program_wait_for_progress(dir);
    CHECK(kill(pid, SIGHUP) == 0);
    CHECK_INT(program_wait(pid, NULL), 0);
    check_same_final(whole_run(), dir);
    temp_dir_remove(dir);
}

// With `sslrun ... 2>&1 | tee log`, Ctrl-C ends tee before the program prints its first line
// about it.
TEST(test_reader_is_gone) {
    char dir[64], path[128], log[1 << 14];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/err", dir);
    CHECK_INT(mkfifo(path, 0600), 0);
    // The program must not inherit its own reader.
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    CHECK(reader >= 0);
    pid_t pid = start_run(dir, 0, "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=-1");
    program_wait_for_progress(dir);
    close(reader);
    CHECK(kill(pid, SIGINT) == 0);
    CHECK_INT(program_wait(pid, NULL), 128 + SIGINT);
    CHECK_OK(sr_file_remove(path));
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", dir);
    CHECK(sr_file_exists(path));
    program_read(dir, "log.txt", log, sizeof log);
    CHECK(strstr(log, " stopped after ") && strstr(log, "to resume: "));
    finish_run(dir, 0);
    check_same_final(whole_run(), dir);
    temp_dir_remove(dir);
}

static int stop_after(void *left) { return --*(int *)left == 0; }

// A stop during a probe saves the state after the epoch's last batch, and the resumed run makes
// up for the probe.
TEST(test_stop_in_probe) {
    char dir[64], key[128];
    ProbeLine got[EPOCHS];
    int left = 1 + 7 + 1; // asked before the first step, between those of an epoch, by the probe
    SrConfig *config;
    SrRun *run;
    SrTrainResult result;
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    const char *overrides[] = {key, PROBES};
    SrTrainOptions options = {.stop = stop_after, .stop_arg = &left};
    CHECK_OK(sr_config_load(CONFIG, overrides, 2, &config));
    CHECK_FAILS(sr_train_run(config, &options, &run, &result), SR_ERR_INTERRUPT,
                "stopped after 8 of 24 updates and saved");
    sr_log_close();
    sr_run_close(run);
    sr_config_free(config);
    read_probes(dir, got);
    CHECK_INT(got[0].n, 0);
    finish_run_with(dir, 0, PROBES);
    read_probes(dir, got);
    CHECK(got[0].n == 1 && got[1].n == 1 && got[2].n == 1);
    check_same_final(whole_run(), dir);
    temp_dir_remove(dir);
}

static void count_temporaries(const char *dir, int expected) {
    char **names;
    int n, found = 0;
    CHECK_OK(sr_file_list(dir, &names, &n));
    for (int i = 0; i < n; i++)
        found += strstr(names[i], ".tmp") != NULL;
    sr_file_list_free(names, n);
    CHECK_INT(found, expected);
}

// `ulimit -f` causes an error like that of a full disk, and no partial file is left.
TEST(test_file_size_limit) {
    char dir[64], err[1 << 14];
    struct rlimit before, limit;
    temp_dir_make(dir);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){29000, before.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    pid_t pid = start_run(dir, 0, NULL);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_INT(program_wait(pid, NULL), 1);
    program_read(dir, "err", err, sizeof err);
    // The run's page exceeded the size limit as well. The last line names the cause of the run's
    // end, and no line refers to the missing page.
    const char *page = strstr(err, "no report.html"), *reason = strstr(err, "sslrun: cannot write");
    CHECK(page && reason && page < reason);
    CHECK(strstr(reason, "/model_") && strstr(reason, "File too large"));
    CHECK(!strstr(err, "shows the run"));
    count_temporaries(dir, 0);
    finish_run(dir, 0);
    check_same_final(whole_run(), dir);
    temp_dir_remove(dir);
}

TEST(test_no_more_whole_run) { temp_dir_remove(whole_run()); }

// Two runs in one folder would delete each other's checkpoints, so the second is refused.
TEST(test_folder_is_held) {
    char dir[64], path[128], err[1 << 14];
    int lock;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/.lock", dir);
    CHECK_OK(sr_file_lock(path, &lock));
    CHECK_INT(program_wait(start_run(dir, 0, NULL), NULL), 1);
    program_read(dir, "err", err, sizeof err);
    CHECK(strstr(err, "CHECKPOINT.DIR: ") && strstr(err, "is in use by another process"));
    CHECK(strstr(err, "wait until that process ends, stop it, or use another folder"));
    sr_file_unlock(lock);
    finish_run(dir, 0);
    temp_dir_remove(dir);
}

// A folder without write permission is reported as that, and not as held by another run.
TEST(test_unwritable_folder) {
    ProgramResult r;
    program_run(&r, 0, (const char *const[]){CONFIG, "CHECKPOINT.DIR=/proc", NULL});
    CHECK_INT(r.code, 1);
    CHECK(strstr(r.err, "expected a folder that can be written to") &&
          !strstr(r.err, "wait until"));
}

SR_TESTS(resume, unit(test_folder_is_held), unit(test_unwritable_folder), unit(test_sigkill),
         unit(test_threads), unit(test_bf16), unit(test_replicas), unit(test_accumulation),
         unit(test_shards), unit(test_probes), unit(test_sigterm), unit(test_sigint),
         unit(test_sighup), unit(test_sigusr1), unit(test_second_signal), unit(test_nohup),
         unit(test_reader_is_gone), unit(test_stop_in_probe), unit(test_file_size_limit),
         unit(test_no_more_whole_run))
