// Runs the built program from tests, alone or under mpirun, and captures its output (program.h).
#include "tests/program.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

enum { MAX_ARGS = 32, PATH_BYTES = 4096 };

bool program_nohup;

void program_self(char out[PROGRAM_SELF]) {
    ssize_t n = readlink("/proc/self/exe", out, PROGRAM_SELF - 1);
    CHECK(n > 0);
    out[n] = '\0';
}

void program_folder(char out[PROGRAM_SELF]) {
    program_self(out);
    *strrchr(out, '/') = '\0';
}

void program_path(char out[PATH_BYTES]) {
    char folder[PROGRAM_SELF];
    program_folder(folder);
    snprintf(out, PATH_BYTES, "%s/sslrun", folder);
}

static int open_output(const char *dir, const char *name) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
}

// Writes the command mpirun, which works as root and on fewer cores than ranks. mpirun kills the
// ranks late enough after its first signal for them to save.
static int launcher(char *number, int ranks, char **argv) {
    static const char *const words[] = {
        "mpirun", "--oversubscribe",           "--allow-run-as-root",
        "--mca",  "odls_base_sigkill_timeout", "2",
        "-np"};
    int n = 0;
    if (ranks == 0)
        return 0;
    for (int i = 0; i < SR_COUNT(words); i++)
        argv[n++] = (char *)words[i];
    snprintf(number, 16, "%d", ranks);
    argv[n++] = number;
    return n;
}

// Starts the program. Everything is prepared before the fork, since the child of a process with
// threads may only exec. Closes out and err.
static pid_t start(int out, int err, int ranks, int threads, const char *const *args) {
    char path[PATH_BYTES], number[16], size[16];
    char *argv[MAX_ARGS + 16];
    int n = launcher(size, ranks, argv);
    program_path(path);
    argv[n++] = path;
    for (int i = 0; args[i]; i++) {
        CHECK(n <= MAX_ARGS + 8);
        argv[n++] = (char *)args[i];
    }
    argv[n] = NULL;
    if (threads > 0) {
        snprintf(number, sizeof number, "%d", threads);
        setenv("OMP_NUM_THREADS", number, 1);
    }
    if (ranks > 0) // Open MPI's own leaks would end a program built with -fsanitize=address
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    CHECK(out >= 0 && err >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); // a failed test waits for no process
        // A shell's background job ignores SIGINT and nohup SIGHUP, and the program would inherit
        // both.
        signal(SIGINT, SIG_DFL);
        signal(SIGHUP, program_nohup ? SIG_IGN : SIG_DFL);
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(out);
    close(err);
    if (ranks > 0)
        unsetenv("ASAN_OPTIONS");
    if (threads > 0)
        unsetenv("OMP_NUM_THREADS");
    CHECK(pid > 0);
    return pid;
}

pid_t program_start(const char *dir, int threads, const char *const *args) {
    return program_start_ranks(dir, 0, threads, args);
}

pid_t program_start_ranks(const char *dir, int ranks, int threads, const char *const *args) {
    return start(open_output(dir, "out"), open_output(dir, "err"), ranks, threads, args);
}

// Returns the parent of a process; 0: there is no such process.
static pid_t parent_of(const char *process) {
    char path[300];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%s/status", process);
    FILE *f = fopen(path, "r");
    for (char line[256]; f && fgets(line, sizeof line, f);)
        if (sscanf(line, "PPid: %d", &parent) == 1)
            break;
    if (f)
        fclose(f);
    return parent;
}

static int compare_pids(const void *a, const void *b) {
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

pid_t program_rank(pid_t mpirun, int rank) {
    pid_t found[64];
    int n = 0;
    DIR *d = opendir("/proc");
    CHECK(d != NULL);
    for (const struct dirent *e; (e = readdir(d)) && n < SR_COUNT(found);)
        if (isdigit((unsigned char)e->d_name[0]) && parent_of(e->d_name) == mpirun)
            found[n++] = atoi(e->d_name);
    closedir(d);
    qsort(found, (size_t)n, sizeof *found, compare_pids);
    return rank < n ? found[rank] : 0;
}

void program_kill_rank(pid_t mpirun, int rank, int signal) {
    pid_t pid = program_rank(mpirun, rank);
    CHECK(pid > 0); // process 0 would be the tests themselves
    CHECK_INT(kill(pid, signal), 0);
}

void program_need_numpy(void) {
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
        SKIP("/usr/bin/python3 has no numpy", "apt-get install python3-numpy");
}

void program_need_ranks(void) {
    if (!SR_MPI)
        SKIP("this build has no ranks", "apt-get install libopenmpi-dev openmpi-bin && make test");
    if (system("command -v mpirun >/dev/null 2>&1") != 0)
        SKIP("there is no mpirun", "apt-get install openmpi-bin");
}

// Reading ends with EIO when the last writer has closed the other side.
void program_run_terminal(ProgramResult *result, int columns, const char *const *args) {
    int us, them;
    ssize_t got;
    size_t n = 0;
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    if (openpty(&us, &them, NULL, NULL, &size) != 0)
        SKIP("there is no pseudo-terminal", "mount -t devpts devpts /dev/pts");
    CHECK(fcntl(us, F_SETFD, FD_CLOEXEC) == 0);
    pid_t pid = start(them, dup(them), 0, 1, args);
    while (n < sizeof result->out - 1 &&
           (got = read(us, result->out + n, sizeof result->out - 1 - n)) > 0)
        n += (size_t)got;
    result->out[n] = result->err[0] = '\0';
    result->code = program_wait(pid, &result->peak_bytes);
    close(us);
}

int program_wait(pid_t pid, long *peak_bytes) {
    int status = 0;
    struct rusage usage;
    CHECK(wait4(pid, &status, 0, &usage) == pid);
    if (peak_bytes)
        *peak_bytes = usage.ru_maxrss * 1024;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void program_read(const char *dir, const char *name, char *text, int n) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    size_t got = f ? fread(text, 1, (size_t)n - 1, f) : 0;
    text[got] = '\0';
    if (f)
        fclose(f);
}

void program_run(ProgramResult *result, int threads, const char *const *args) {
    char dir[64];
    temp_dir_make(dir);
    result->code = program_wait(program_start(dir, threads, args), &result->peak_bytes);
    program_read(dir, "out", result->out, sizeof result->out);
    program_read(dir, "err", result->err, sizeof result->err);
    temp_dir_remove(dir);
}

void program_pack(const char *dir, int n) {
    char images[128], shards[128];
    snprintf(images, sizeof images, "%s/images", dir);
    snprintf(shards, sizeof shards, "%s/shards", dir);
    fixture_class_folder(dir, "images", n);
    const char *args[] = {"pack", images, "--out", shards, "--size", "64K", NULL};
    CHECK_INT(program_wait(program_start(dir, 1, args), NULL), 0);
}

void program_preload(const char *library) {
    char path[4096], *slash;
    if (!library) {
        unsetenv("LD_PRELOAD");
        return;
    }
    program_path(path);
    slash = strrchr(path, '/');
    snprintf(slash, sizeof path - (size_t)(slash - path), "/%s", library);
    if (PROGRAM_SANITIZED)
        SKIP("a sanitized program takes no preloaded library", NULL);
    if (SR_STATIC)
        SKIP("a static program loads nothing before itself", NULL);
    if (access(path, R_OK) != 0)
        SKIP("a preloaded library is not next to the program", "make build/run-tests");
    setenv("LD_PRELOAD", path, 1);
}

void program_sleep_ms(double ms) {
    struct timespec t = {(time_t)(ms / 1e3), (long)(fmod(ms, 1e3) * 1e6)};
    nanosleep(&t, NULL);
}

double program_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

void program_wait_for_progress(const char *dir) {
    char text[4096] = "";
    for (int i = 0; i < 12000 && !strchr(text, '\n'); i++) {
        program_sleep_ms(5);
        program_read(dir, "stdout.json", text, sizeof text);
    }
}
