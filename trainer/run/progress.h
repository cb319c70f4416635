// How fast a run goes and when it ends: images a second, share of time waiting for data, ETA, and
// the lines that say so.  VISSL's fields in VISSL's order, ours after them.
#ifndef SR_TRAINER_RUN_PROGRESS_H
#define SR_TRAINER_RUN_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

typedef struct {
    int64_t total; // updates of the whole run
    int images;    // of a step
    int64_t steps; // steps this process has done
    double step_s; // smoothed seconds a step, data included; evaluation and saving are not in it
    int64_t window_steps; // steps, seconds and seconds of waiting since the last line
    double window_s, window_wait_s;
} SrProgress;

// What one line reports: the step just done, counted from 0 over the run and within its epoch.
typedef struct {
    int64_t epoch, iteration;
    int64_t epoch_step, epoch_steps;
    double lr, loss;
} SrProgressLine;

void sr_progress_start(SrProgress *p, int64_t total, int images);
// After each step: seconds it took in all, and seconds of them spent waiting for the batch.
void sr_progress_step(SrProgress *p, double seconds, double wait_s);
double sr_progress_eta(const SrProgress *p, int64_t updates_done); // seconds
double sr_progress_rate(const SrProgress *p); // images a second since the last line
double sr_progress_wait(const SrProgress *p); // share of that time spent waiting, 0 .. 1
// "[ep: 3] iter: 120/938; lr: 0.30000; loss: 5.12345; btime(ms): 312; eta: 1:02:33; images/s: 820;
// data wait: 2%".
// columns: of the terminal, in which the line leaves fields out until it fits, the last one free; 0: the whole line.
void sr_progress_text(const SrProgress *p, const SrProgressLine *line, int columns, char *out,
                      size_t bytes);
void sr_progress_reset_window(SrProgress *p);

// "256", below ten with two significant digits: "0.42".  For images per second.  Returns out.
const char *sr_rate_text(double rate, char *out, size_t bytes);

#endif
