// Tests a clock that is set back or forward by years while the program runs, or between a stop and
// its continuation (tests/faults/clock.c): the same bits, no absurd durations, and the newest
// checkpoint is known by what it holds.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/cli/web.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"
#define FINAL "model_final_checkpoint_phase5.safetensors"
#define EPOCHS "OPTIMIZER.num_epochs=6"
#define YEAR 31557600LL

static char dir[64], clock_file[96];

// Lets the programs that start from now on read their time of day from clock_file.
static void begin(void) {
    program_preload("clock.so");
    temp_dir_make(dir);
    snprintf(clock_file, sizeof clock_file, "%s/clock", dir);
    setenv("SR_CLOCK", clock_file, 1);
}

static void forget(void) {
    program_preload(NULL);
    unsetenv("SR_CLOCK");
}

static void end(void) {
    forget();
    temp_dir_remove(dir);
}

// Moves the time of day, and lets it run on by as much more whenever the program looks at it.
static void set_clock_running(long long seconds, long long more) {
    char text[64];
    int n = snprintf(text, sizeof text, "%lld %lld", seconds, more);
    CHECK_OK(sr_file_write(clock_file, text, (size_t)n));
}

static void set_clock(long long seconds) { set_clock_running(seconds, 0); }

static void make_key(const char *name, char out[160]) {
    snprintf(out, 160, "CHECKPOINT.DIR=%s/%s", dir, name);
}

static pid_t start(const char *name, const char *extra) {
    char key[160];
    make_key(name, key);
    return program_start(dir, 1, (const char *const[]){CONFIG, key, EPOCHS, extra, NULL});
}

static void finish(const char *name) {
    static char err[1 << 14];
    int code = program_wait(start(name, NULL), NULL);
    program_read(dir, "err", err, sizeof err);
    if (code != 0)
        fail_msg("exit code %d: %s", code, err);
}

static void check_same(const char *a, const char *b) {
    char x[160], y[160];
    snprintf(x, sizeof x, "%s/%s/" FINAL, dir, a);
    snprintf(y, sizeof y, "%s/%s/" FINAL, dir, b);
    check_same_checkpoint(x, y, 100);
}

// Waits until stdout.json of the run has that many lines, at most a minute.
static void wait_for_lines(const char *name, int lines) {
    static char text[1 << 16];
    char path[160];
    snprintf(path, sizeof path, "%s/stdout.json", name);
    for (int i = 0, n = 0; i < 12000 && n < lines; i++) {
        program_sleep_ms(5);
        program_read(dir, path, text, sizeof text);
        n = 0;
        for (const char *p = text; (p = strchr(p, '\n')); p++)
            n++;
    }
}

// Every number after the key must be a duration of this test.  Returns how many there are.
static int check_durations(const char *name, const char *file, const char *key, double most) {
    static char text[1 << 18];
    char path[160];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", name, file);
    program_read(dir, path, text, sizeof text);
    for (const char *p = text; (p = strstr(p, key)); n++) {
        double value = strtod(p += strlen(key), NULL);
        if (!(value >= 0 && value < most))
            fail_msg("%s: %s%g", path, key, value);
    }
    return n;
}

static void check_log(const char *name) {
    static char text[1 << 18];
    char path[160];
    int h, m, s, n = 0;
    snprintf(path, sizeof path, "%s/log.txt", name);
    program_read(dir, path, text, sizeof text);
    for (const char *p = text; (p = strstr(p, " done in ")); p++, n++)
        if (sscanf(p, " done in %d:%d:%d: mean loss", &h, &m, &s) != 3 || h != 0)
            fail_msg("%.80s", p);
    for (const char *p = text; (p = strstr(p, "; eta: ")); p++)
        if (sscanf(p, "; eta: %d:%d:%d;", &h, &m, &s) != 3 || h != 0)
            fail_msg("%.80s", p);
    CHECK(n >= 6);
}

// An hour is more than a test takes and less than any jump.
TEST(test_jumps_during_a_run) {
    begin();
    finish("whole");
    pid_t pid = start("run", "LOG_FREQUENCY=1");
    wait_for_lines("run", 2);
    set_clock(30 * YEAR);
    wait_for_lines("run", 14); // beyond the first epoch
    set_clock(-20 * YEAR);
    wait_for_lines("run", 20);
    CHECK(kill(pid, SIGTERM) == 0);
    int code = program_wait(pid, NULL);
    CHECK(code == 128 + SIGTERM || code == 0);
    set_clock(-40 * YEAR);
    finish("run");
    check_same("whole", "run");
    CHECK(check_durations("run", "metrics.json", "\"seconds\": ", 3600) >= 6);
    CHECK(check_durations("run", "stdout.json", "\"eta_s\": ", 3600) >= 6);
    CHECK(check_durations("run", "stdout.json", "\"btime(ms)\": ", 3600e3) >= 6);
    check_log("run");
    end();
}

// A report of a run whose clock jumped has the same durations as its lines: sums of steps.
TEST(test_report) {
    static char page[1 << 18];
    static ProgramResult result;
    char run[96];
    begin();
    set_clock(20 * YEAR);
    finish("run");
    set_clock(-50 * YEAR);
    snprintf(run, sizeof run, "%s/run", dir);
    program_run(&result, 1, (const char *const[]){"report", run, NULL});
    CHECK_INT(result.code, 0);
    program_read(dir, "run/report.html", page, sizeof page);
    const char *took = strstr(page, "6 of 6 epochs in ");
    int h, m, sec;
    CHECK(took && sscanf(took, "6 of 6 epochs in %d:%d:%d", &h, &m, &sec) == 3);
    CHECK_INT(h, 0);
    end();
}

// --minutes measures by the monotonic clock: a day at each look at the time of day makes neither
// one epoch nor a billion, and does not end the run.
TEST(test_minutes) {
    static char config[1 << 16];
    char key[160], run[96];
    begin();
    make_key("run", key);
    set_clock_running(0, 86400);
    pid_t pid = program_start(dir, 1,
                              (const char *const[]){CONFIG, key, "TEST_MODEL=False",
                                                    "DATA.TRAIN.DATA_LIMIT=16", "LOG_FREQUENCY=1",
                                                    "--minutes", "1", NULL});
    snprintf(run, sizeof run, "%s/run", dir);
    program_wait_for_progress(run);
    set_clock(60 * YEAR);
    program_sleep_ms(50);
    CHECK(kill(pid, SIGTERM) == 0);
    CHECK_INT(program_wait(pid, NULL), 128 + SIGTERM); // it had not ended by itself
    program_read(run, "train_config.yaml", config, sizeof config);
    const char *epochs = strstr(config, "\n    num_epochs: ");
    CHECK(epochs != NULL);
    int n = atoi(epochs + strlen("\n    num_epochs: "));
    if (n <= 1 || n >= 1000000)
        fail_msg("%d epochs in a minute", n);
    end();
}

// Times of change that contradict the runs' own order: the folder resumes from the furthest
// checkpoint, not from the file that was changed last.
TEST(test_times_of_files) {
    static char err[1 << 14];
    char run[96], path[256], **names;
    int n;
    temp_dir_make(dir);
    finish("whole");
    pid_t pid = start("run", "CHECKPOINT.KEEP_LAST=100");
    wait_for_lines("run", 4);
    CHECK(kill(pid, SIGTERM) == 0);
    program_wait(pid, NULL);
    snprintf(run, sizeof run, "%s/run", dir);
    CHECK_OK(sr_file_list(run, &names, &n));
    long long furthest = 0;
    for (int i = 0; i < n; i++) {
        long long number = 0;
        if (sscanf(names[i], "model_iteration%lld.", &number) == 1)
            furthest = SR_MAX(furthest, number);
        // The further a checkpoint is, the older is its file.
        struct timespec times[2] = {{2000000000 - 1000 * number, 0},
                                    {2000000000 - 1000 * number, 0}};
        CHECK_OK(sr_file_join(path, sizeof path, run, names[i]));
        CHECK_INT(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
    }
    sr_file_list_free(names, n);
    CHECK(furthest > 2);
    finish("run");
    program_read(dir, "err", err, sizeof err);
    if (!strstr(err, "training has finished")) {
        const char *at = strstr(err, "model_iteration");
        CHECK(strstr(err, "resuming from") && at);
        CHECK_INT(strtoll(at + strlen("model_iteration"), NULL, 10), furthest);
    }
    check_same("whole", "run");
    temp_dir_remove(dir);
}

// The live page closes requests that trickle in after the same seconds, whatever the clock says.
TEST(test_web) {
    static const char head[] = "GET / HTTP/1.1\r\nX: ";
    Web w;
    web_need();
    begin();
    web_begin(&w);
    set_clock(10 * YEAR);
    program_sleep_ms(1500); // the server has looked at the clock since
    set_clock(-10 * YEAR);
    web_write_run(w.runs, "one", 3, 1.25);
    CHECK_INT(web_get(&w, "/"), 200);
    int fd = web_dial(&w), closed = 0;
    CHECK(send(fd, head, sizeof head - 1, MSG_NOSIGNAL) > 0);
    for (int i = 0; i < 300 && !closed; i++) {
        program_sleep_ms(100);
        send(fd, "x", 1, MSG_NOSIGNAL); // the library closes connections without bytes by itself
        ssize_t got = recv(fd, web_answer, sizeof web_answer, MSG_DONTWAIT);
        closed = got == 0 || (got < 0 && errno != EAGAIN);
    }
    close(fd);
    CHECK(closed);
    CHECK_INT(web_get(&w, "/run?id=one"), 200);
    web_end(&w);
    end();
}

SR_TESTS(clock, unit(test_jumps_during_a_run), unit(test_report), unit(test_minutes),
         unit(test_times_of_files), unit(test_web))
