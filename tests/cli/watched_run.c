// Samples /proc while a run lasts (watched_run.h).
#include "tests/cli/watched_run.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/program.h"

#define MOST_SILENT_MS 120e3

static FILE *open_of(pid_t pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "r");
}

// Returns the number after `key` in a file of the process; -1: the file or the line is missing.
static int64_t number_of(pid_t pid, const char *name, const char *key) {
    long long value = -1;
    FILE *f = open_of(pid, name);
    for (char line[256]; f && value < 0 && fgets(line, sizeof line, f);)
        if (strncmp(line, key, strlen(key)) == 0)
            value = atoll(line + strlen(key));
    if (f)
        fclose(f);
    return value;
}

// Returns the milliseconds of the processor that all threads have used; 0: the process ended.
static double processor_ms(pid_t pid) {
    unsigned long user = 0, system = 0;
    char line[1024] = "";
    FILE *f = open_of(pid, "stat");
    if (f && fgets(line, sizeof line, f) && strrchr(line, ')'))
        sscanf(strrchr(line, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
               &user, &system);
    if (f)
        fclose(f);
    return 1e3 * (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static int descriptors_of(pid_t pid) {
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

// Returns the updates that stdout.json tells of, from the last whole line in its last bytes.
static int64_t updates_of(const char *run) {
    char path[256], tail[2048], *at = tail, *last = NULL;
    snprintf(path, sizeof path, "%s/stdout.json", run);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    if (fseek(f, -(long)(sizeof tail - 1), SEEK_END) != 0)
        rewind(f);
    tail[fread(tail, 1, sizeof tail - 1, f)] = '\0';
    fclose(f);
    while ((at = strstr(at, "\"iter\": ")) && strchr(at, '\n'))
        last = at++;
    return last ? atoll(last + strlen("\"iter\": ")) + 1 : 0;
}

static bool has_ended(pid_t pid) {
    siginfo_t info = {.si_pid = 0};
    CHECK_INT(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid != 0;
}

// Adds a sample, unless the process ended while it was taken: its files are empty then.
static void add(Watch *w, pid_t pid, const char *run) {
    WatchSample s = {.updates = updates_of(run),
                     .ms = processor_ms(pid),
                     .kib = number_of(pid, "smaps_rollup", "Anonymous:"),
                     .peak_kib = number_of(pid, "status", "VmHWM:"),
                     .descriptors = descriptors_of(pid),
                     .threads = (int)number_of(pid, "status", "Threads:")};
    if (s.kib < 0 || s.peak_kib < 0 || s.threads < 1 || has_ended(pid))
        return;
    if (w->n == w->cap) {
        w->cap = 2 * w->cap + 256;
        w->sample = realloc(w->sample, (size_t)w->cap * sizeof *w->sample);
        CHECK(w->sample != NULL);
    }
    w->sample[w->n++] = s;
}

void watch_run(Watch *w, pid_t pid, const char *run, double every_ms) {
    double began = program_now_ms(), heard = 0;
    int64_t updates = 0;
    bool silent = false;
    *w = (Watch){.n = 0};
    while (!has_ended(pid) && !silent) {
        add(w, pid, run);
        double now = program_now_ms() - began;
        if (w->n > 0 && w->sample[w->n - 1].updates != updates) {
            updates = w->sample[w->n - 1].updates;
            heard = now;
        }
        silent = now - heard > MOST_SILENT_MS;
        program_sleep_ms(every_ms);
    }
    if (silent)
        kill(pid, SIGKILL);
    w->code = program_wait(pid, NULL);
    if (silent)
        fail_msg("%s: no update followed update %lld", run, (long long)updates);
}

void watch_free(Watch *w) {
    free(w->sample);
    *w = (Watch){.n = 0};
}

void watch_without_huge_pages(bool on) {
    CHECK_INT(prctl(PR_SET_THP_DISABLE, on ? 1 : 0, 0, 0, 0), 0);
}
