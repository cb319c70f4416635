// From a folder of photos to a report and a live page: every command except the first is taken
// from the output of the one before it and run as printed.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#include "gen/build.h"

enum { PHOTOS = 24, SIDE = 16 };

static char said[1 << 16];

static void write_photos(const char *dir) {
    for (int i = 0; i < PHOTOS; i++) {
        uint8_t pixels[SIDE * SIDE * 3];
        char name[64];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *jpeg = fixture_jpeg(pixels, SIDE, SIDE, 3, &bytes);
        snprintf(name, sizeof name, "my photos/%d.jpg", i);
        fixture_write(dir, name, jpeg, bytes);
        sr_free(jpeg);
    }
}

// Starts a shell command in that folder; its output goes to <dir>/said.
static pid_t start(const char *dir, const char *line) {
    pid_t pid = fork();
    if (pid == 0) {
        char whole[8192];
        snprintf(whole, sizeof whole, "exec >said 2>&1; exec %s", line);
        if (chdir(dir) == 0)
            execl("/bin/sh", "sh", "-c", whole, (char *)NULL);
        _exit(127);
    }
    CHECK(pid > 0);
    return pid;
}

static int finish(const char *dir, pid_t pid) {
    int code = program_wait(pid, NULL);
    program_read(dir, "said", said, sizeof said);
    return code;
}

// Copies the printed line that contains `what`, from the end of `from` on ("": from its start).
static void printed(const char *what, const char *from, char *line, size_t n) {
    const char *at = strstr(said, what);
    if (!at)
        fail_msg("no \"%s\" in: %s", what, said);
    while (at > said && at[-1] != '\n')
        at--;
    if (*from)
        at = strstr(at, from) + strlen(from);
    snprintf(line, n, "%.*s", (int)strcspn(at, "\n"), at);
}

static bool comes(const char *dir, const char *name, double seconds) {
    const struct timespec nap = {0, 20000000};
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    for (double until = sr_clock() + seconds; sr_clock() < until; nanosleep(&nap, NULL))
        if (sr_file_exists(path))
            return true;
    return false;
}

// Resumes by the printed command.  The first epoch is over, so that one epoch is the whole run.
static void resume(const char *dir) {
    char again[4096], line[4200];
    printed("to resume: ", "to resume: ", again, sizeof again);
    snprintf(line, sizeof line, "%s OPTIMIZER.num_epochs=1", again);
    CHECK_INT(finish(dir, start(dir, line)), 0);
    CHECK(strstr(said, "training has finished"));
}

// Starts training as printed. Once the page exists the run is interrupted, which saves; with
// SSLRUN_LONG it runs to its end.
static void train(const char *dir, const char *line) {
    pid_t run = start(dir, line);
    if (!comes(dir, "runs/my photos/report.html", 120))
        fail_msg("no report.html from %s: %s", line, said);
    if (getenv("SSLRUN_LONG")) {
        CHECK_INT(finish(dir, run), 0);
        return;
    }
    CHECK(kill(run, SIGTERM) == 0);
    CHECK_INT(finish(dir, run), 143);
    resume(dir);
}

static void look_at_runs(const char *dir) {
    char line[4096];
    printed(" web ", "  ", line, sizeof line);
    CHECK(strstr(line, " web runs"));
    strcat(line, " --port 0");
    pid_t web = start(dir, line);
    for (double until = sr_clock() + 20; sr_clock() < until && !strstr(said, "http://");)
        program_read(dir, "said", said, sizeof said);
    CHECK(strstr(said, "http://127.0.0.1:"));
    kill(web, SIGTERM);
    finish(dir, web);
}

TEST(test_four_commands) {
    char dir[64], self[PROGRAM_SELF], line[4096];
    program_folder(self);
    temp_dir_make(dir);
    write_photos(dir);
    snprintf(line, sizeof line, "%s/sslrun init 'my photos' --minutes 1", self);
    CHECK_INT(finish(dir, start(dir, line)), 0);
    printed(" augment ", "", line, sizeof line);
    CHECK_INT(finish(dir, start(dir, line)), 0);
    CHECK(comes(dir, "my photos-views.png", 0.1));
    printed("/sslrun 'my photos.yaml'", "", line, sizeof line);
    train(dir, line);
    if (SR_WEB)
        look_at_runs(dir);
    else // a build without the server does not recommend it
        CHECK(!strstr(said, " web "));
    temp_dir_remove(dir);
}

SR_TESTS(first_hour, unit(test_four_commands))
