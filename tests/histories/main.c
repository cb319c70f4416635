// Runs histories of simulated ranks:
//     run-histories [--count N] [--first SEED] [--seed SEED] [--twice K] [--jobs N]
// N histories (200) from a seed (1) on; --seed runs one twice and prints its schedule.  Every K-th
// history (20) runs twice and must repeat itself exactly.  Jobs share out the seeds; by default
// there is one per core.  The exit code is 1 if a history was wrong, whose line names the seed that
// replays it; 77 if the system forbids what the simulation needs.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "cli/restart.h"
#include "tests/histories/history.h"
#include "tests/histories/network.h"

enum { METHODS = 32, MOST_JOBS = 16, REFUSED = 77 };

typedef struct {
    uint64_t count, first, seed, twice, jobs;
} Options;

// Sums over histories.
typedef struct {
    int starts, faults, repeated, wrong;
    int endings[ENDINGS];
    int n[METHODS]; // histories of each method
    double seconds[METHODS];
} Sums;

static bool parse(int argc, char **argv, Options *o) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (Options){.count = 200, .first = 1, .twice = 20, .jobs = (uint64_t)SR_MAX(cores, 1)};
    const struct {
        const char *name;
        uint64_t *value;
    } flags[] = {{"--count", &o->count},
                 {"--first", &o->first},
                 {"--seed", &o->seed},
                 {"--twice", &o->twice},
                 {"--jobs", &o->jobs}};
    for (int i = 1; i < argc; i += 2) {
        bool known = false;
        for (int k = 0; k < SR_COUNT(flags) && i + 1 < argc; k++)
            if (strcmp(argv[i], flags[k].name) == 0) {
                *flags[k].value = strtoull(argv[i + 1], NULL, 10);
                known = true;
            }
        if (!known)
            return false;
    }
    o->jobs = o->seed ? 1 : SR_MIN(o->jobs, MOST_JOBS);
    return o->twice > 0 && o->jobs > 0;
}

// Runs a history, and again if it is to repeat itself.
static void run(Laboratory *lab, uint64_t seed, bool twice, bool show, Sums *sums) {
    History h, again;
    double began = sr_clock();
    history_run(lab, seed, show, &h);
    sums->n[h.method]++;
    sums->seconds[h.method] += sr_clock() - began;
    sums->starts += h.starts;
    sums->faults += h.faults;
    sums->repeated += twice;
    for (int e = 0; e < ENDINGS; e++)
        sums->endings[e] += h.endings[e];
    if (twice && !*h.wrong) {
        history_run(lab, seed, false, &again);
        if (again.hash != h.hash)
            snprintf(h.wrong, sizeof h.wrong, "the seed does not repeat it: then %.400s",
                     again.text);
    }
    sums->wrong += *h.wrong != '\0';
    if (*h.wrong || show)
        printf("seed %" PRIu64 ": %s\n    %s\n    make histories SEED=%" PRIu64 " replays it\n",
               seed, h.text, *h.wrong ? h.wrong : "right", seed);
}

// Runs the histories of one job.
static void work(const Options *o, uint64_t job, Sums *sums) {
    static Laboratory lab;
    laboratory_open(&lab);
    if (o->seed > 0)
        run(&lab, o->seed, true, true, sums);
    for (uint64_t i = job; i < o->count && o->seed == 0; i += o->jobs)
        run(&lab, o->first + i, i % o->twice == 0, false, sums);
    if (o->seed > 0 && sums->wrong > 0)
        printf("%s holds the files of this history\n", lab.scratch);
    else
        laboratory_close(&lab);
}

// ---- jobs

// Starts a job and returns the descriptor from which its sums are read.
static int start_job(const Options *o, uint64_t job) {
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        abort();
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        Sums sums = {0};
        close(ends[0]);
        work(o, job, &sums);
        fflush(NULL);
        _exit(write(ends[1], &sums, sizeof sums) != sizeof sums);
    }
    close(ends[1]);
    return ends[0];
}

static void add(Sums *to, const Sums *from) {
    to->starts += from->starts;
    to->faults += from->faults;
    to->repeated += from->repeated;
    to->wrong += from->wrong;
    for (int e = 0; e < ENDINGS; e++)
        to->endings[e] += from->endings[e];
    for (int m = 0; m < METHODS; m++) {
        to->n[m] += from->n[m];
        to->seconds[m] += from->seconds[m];
    }
}

// A job that ends without its sums was wrong, and has said why.
static void run_jobs(const Options *o, Sums *sums) {
    int from[MOST_JOBS];
    for (uint64_t job = 0; job < o->jobs; job++)
        from[job] = start_job(o, job);
    for (uint64_t job = 0; job < o->jobs; job++) {
        Sums part = {.wrong = 1};
        Sums whole;
        if (read(from[job], &whole, sizeof whole) == sizeof whole)
            part = whole;
        add(sums, &part);
        close(from[job]);
    }
    while (wait(NULL) > 0)
        ;
}

static void print(const Options *o, const Sums *s) {
    for (int i = 0; i < methods_count() && o->seed == 0; i++)
        printf("%-10s %5d histories, %4.0f ms each: %s\n", method_at(i)->name, s->n[i],
               1e3 * s->seconds[i] / SR_MAX(s->n[i], 1), method_at(i)->what);
    printf("histories: %" PRIu64 " from seed %" PRIu64 ", %d of them twice: %d starts, %d faults; "
           "of the disturbed starts %d ended in the right bits, %d stopped on request, %d failed "
           "with a line, %d were killed; %d wrong\n",
           o->seed ? 1 : o->count, o->seed ? o->seed : o->first, s->repeated, s->starts, s->faults,
           s->endings[ENDED_RIGHT], s->endings[ENDED_STOPPED], s->endings[ENDED_FAILED],
           s->endings[ENDED_KILLED], s->wrong);
}

int main(int argc, char **argv) {
    Options o;
    Sums sums = {0};
    setenv("OMP_NUM_THREADS", "1", 1);
    sr_restart_with_settings(argv); // every rank computes with the program's settings
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "run-histories: expected --count N, --first SEED, --seed SEED, --twice K "
                        "or --jobs N\n");
        return 2;
    }
    if (!network_is_allowed()) {
        fprintf(stderr, "run-histories: the system forbids process_vm_readv\n");
        return REFUSED;
    }
    if (o.jobs > 1)
        run_jobs(&o, &sums);
    else
        work(&o, 0, &sums);
    print(&o, &sums);
    return sums.wrong > 0;
}
