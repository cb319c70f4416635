// Watches a run of the program from outside: samples of its memory, descriptors, threads and
// updates.
#ifndef SR_TESTS_CLI_WATCHED_RUN_H
#define SR_TESTS_CLI_WATCHED_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    double ms;        // processor time of all threads so far
    int64_t updates;  // updates that the run has logged
    int64_t kib;      // anonymous resident memory, which no file backs
    int64_t peak_kib; // largest resident size so far, with mapped files
    int descriptors, threads;
} WatchSample;

typedef struct {
    WatchSample *sample; // (n) in the order of time
    int n, cap;
    int code; // exit code of the run, or 128 + signal
} Watch;

// Samples a process every `every_ms` until it ends. run: its CHECKPOINT.DIR, whose stdout.json has
// a line per update. A process without an update for two minutes is killed, and the test fails.
void watch_run(Watch *watch, pid_t pid, const char *run, double every_ms);
void watch_free(Watch *watch);

// Programs that are started while this is on get no huge pages: the kernel may put one in the place
// of small pages long after their first use, which would look like growth. Initially off.
void watch_without_huge_pages(bool on);

#endif
