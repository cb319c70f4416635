// Measures a run's speed and writes its progress lines: images per second, share of time spent
// waiting for data, time left.  VISSL's fields come first, in VISSL's order.
#ifndef SR_TRAINER_RUN_METERS_PROGRESS_H
#define SR_TRAINER_RUN_METERS_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text/text.h"

typedef struct {
    int64_t total; // updates of the whole run
    int images;    // images per step
    int64_t steps; // steps of this process so far
    double step_s; // smoothed seconds per step, with data, without evaluation and saving
    // Steps that steps of later stages cost beyond their number, in the time left; set after
    // sr_progress_start, which makes it 0.
    double later_steps;
    // Steps, seconds and seconds of waiting since the last line
    int64_t window_steps;
    double window_s, window_wait_s;
} SrProgress;

// Values of a progress line.  Iteration and epoch_step of the completed step count from 0.
typedef struct {
    int64_t epoch, iteration;
    int64_t epoch_step, epoch_steps;
    double lr, loss;
} SrProgressLine;

void sr_progress_start(SrProgress *p, int64_t total, int images);
// Adds a step: its seconds, and the part of them spent waiting for the batch.
void sr_progress_step(SrProgress *p, double seconds, double wait_s);
double sr_progress_eta(const SrProgress *p, int64_t updates_done); // seconds
double sr_progress_rate(const SrProgress *p); // images per second since the last line
double sr_progress_wait(const SrProgress *p); // share of that time spent waiting, 0 .. 1
// "[ep: 3] iter: 120/938; lr: 0.30000; loss: 5.12345; btime(ms): 312; eta: 1:02:33; images/s: 820;
// data wait: 2%".
// columns: width of the terminal.  The line leaves out fields until it fits and the last column is
// free.  0: the whole line.
void sr_progress_text(const SrProgress *p, const SrProgressLine *line, int columns, char *out,
                      size_t bytes);
void sr_progress_reset_window(SrProgress *p);

// Writes images per second as "256", below ten with two significant digits: "0.42".  Returns out.
const char *sr_rate_text(double rate, char *out, size_t bytes);

#endif
