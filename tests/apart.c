// Starts a suite per process and adds up their closing lines (apart.h).
#include "tests/apart.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tests/check.h"
#include "tests/program.h"

enum { MAX_JOBS = 64 };

typedef struct {
    const char *name;
    pid_t pid;
    FILE *said; // an unnamed file
} Job;

// The timer outlives exec, and its signal ends a process that does not handle it.
static void limit_time(double minutes) {
    double seconds = 60 * minutes, whole = floor(seconds);
    struct timeval left = {(time_t)whole, (suseconds_t)(1e6 * (seconds - whole))};
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = left}, NULL);
}

static void start(Job *job, const char *name, double minutes) {
    char self[PROGRAM_SELF];
    program_self(self);
    job->name = name;
    job->said = tmpfile();
    if (!job->said) {
        perror("run-tests");
        exit(1);
    }
    fcntl(fileno(job->said), F_SETFD, FD_CLOEXEC); // later groups look at their open files
    fflush(stdout);
    job->pid = fork();
    if (job->pid == 0) {
        dup2(fileno(job->said), STDOUT_FILENO);
        dup2(fileno(job->said), STDERR_FILENO);
        limit_time(minutes);
        execl(self, self, name, (char *)NULL);
        _exit(127);
    }
    if (job->pid < 0) {
        perror("run-tests");
        exit(1);
    }
}

static void print_end(FILE *to, const char *name, int status, bool closed) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        fprintf(to, "[  FAILED  ] suite %s was killed, because it had not ended in time\n", name);
    else if (WIFSIGNALED(status))
        fprintf(to, "[  FAILED  ] suite %s was ended by signal %d\n", name, WTERMSIG(status));
    else
        fprintf(to, "[  FAILED  ] suite %s ended with exit code %d%s\n", name, WEXITSTATUS(status),
                closed ? " though its tests passed" : "");
}

// Prints the output of a suite, without the closing lines, which are added up. Output of a suite
// that failed is also appended to `failures`.
static void finish(const Job *job, int status, ApartCounts *sum, FILE *failures) {
    char line[8192], text[512], *said = NULL;
    size_t said_bytes;
    FILE *kept = open_memstream(&said, &said_bytes);
    ApartCounts of = {0};
    bool closed = false;
    rewind(job->said);
    while (fgets(line, sizeof line, job->said)) {
        int tests;
        if (sscanf(line, "%d passed, %d failed, %d skipped", &of.passed, &of.failed, &of.skipped) ==
            3)
            closed = true;
        else if (sscanf(line, "%d skipped: %511[^\n]", &tests, text) == 2)
            skip_add(tests, text);
        else
            fputs(line, kept);
    }
    fclose(job->said);
    if (!closed || (status != 0 && of.failed == 0)) {
        of = (ApartCounts){.failed = 1};
        print_end(kept, job->name, status, closed);
    }
    fclose(kept);
    fputs(said, stdout);
    fflush(stdout);
    if (of.failed > 0)
        fprintf(failures, "== suite %s failed, and said:\n%s", job->name, said);
    free(said);
    sum->passed += of.passed;
    sum->failed += of.failed;
    sum->skipped += of.skipped;
}

// Programs of several suites would wait for one another's threads, a time slice at every barrier,
// if each had a thread per core.
static void share_cores(int jobs) {
    char threads[16];
    snprintf(threads, sizeof threads, "%ld", SR_MAX(1L, sysconf(_SC_NPROCESSORS_ONLN) / jobs));
    setenv("OMP_NUM_THREADS", threads, 0);
}

ApartCounts apart_run(const char *const *names, int n, int jobs, double minutes) {
    Job running[MAX_JOBS];
    int n_running = 0, next = 0;
    ApartCounts sum = {0};
    char *failed = NULL;
    size_t failed_bytes;
    FILE *failures = open_memstream(&failed, &failed_bytes);
    jobs = SR_MIN(jobs, MAX_JOBS);
    share_cores(jobs);
    while (next < n || n_running > 0) {
        int status, i = 0;
        while (next < n && n_running < jobs)
            start(&running[n_running++], names[next++], minutes);
        pid_t ended = waitpid(-1, &status, 0);
        while (i < n_running && running[i].pid != ended)
            i++;
        if (i == n_running)
            continue;
        finish(&running[i], status, &sum, failures);
        running[i] = running[--n_running];
    }
    fclose(failures);
    fputs(failed, stdout);
    free(failed);
    return sum;
}
